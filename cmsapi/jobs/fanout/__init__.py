"""Many jobs: fan-outs, batches that remember, a table of them."""
