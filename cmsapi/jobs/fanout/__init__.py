"""Run many jobs: fan-outs, named batches, `as_completed`, a table of jobs."""
