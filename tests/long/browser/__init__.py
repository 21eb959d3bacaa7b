"""What people see, in a real Chromium."""
