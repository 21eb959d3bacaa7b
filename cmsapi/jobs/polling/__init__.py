"""Poll jobs, and wake their waiters when they finish."""
