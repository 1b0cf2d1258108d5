"""Where journals are kept: the doers of the `Store` port.

memory   MemoryStore: for tests, and for runs whose record nobody needs
sql      SqliteStore: one SQLite file

Importing this opens nothing and loads no database: take a store from its own module.
"""
