"""What differs from one kind of job to another."""
