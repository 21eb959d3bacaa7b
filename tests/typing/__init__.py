"""Programs that type checkers accept, but for the lines that say which error they expect there."""
