"""Work with many jobs: fan-outs, named batches, jobs as they finish, a table of jobs."""
