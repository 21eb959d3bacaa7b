"""What differs from one kind of job to another, one file a kind.

`kind` is their base, with the defaults. `observation` and `evidence` hold what its methods take and return, `review` is
the result of a generation. The kinds cannot do without them, so that they stay on this lowest layer of the jobs.
"""
