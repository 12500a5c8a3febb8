"""The command-line tool: one module per command, the work itself lives in the library."""
