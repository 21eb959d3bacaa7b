"""What people see: HTML for notebooks, progress in a terminal."""
