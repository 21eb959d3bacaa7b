"""Read from a terminal and write to it: questions, tables, progress, messages and exit codes."""
