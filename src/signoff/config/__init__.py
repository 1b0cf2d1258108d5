"""One typed configuration out of signoff.toml, the environment and the command line; and the folder for what lasts.

Files are read and folders made here. Nothing is started, and no check or artifact is looked at.
"""

from signoff.config.command_line import CommandLine
from signoff.config.resolve import Configuration, resolve
from signoff.config.settings import settings_schema

__all__ = ["CommandLine", "Configuration", "resolve", "settings_schema"]
