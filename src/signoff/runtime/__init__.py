"""The only room that awaits a port: takes events, journals them, advances the core, performs its decisions."""
