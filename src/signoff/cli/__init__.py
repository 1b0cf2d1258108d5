"""The composition root: one file a command. Heavy imports stand inside the command that needs them."""
