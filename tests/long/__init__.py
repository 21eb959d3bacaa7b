"""Long runs: crashes, chaos, races. Each has a `main` that prints a table, and a test that runs a few rounds."""
