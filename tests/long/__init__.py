"""Long runs: crashes, chaos, races. Each has a `main` that prints a table and a test of a few rounds."""
