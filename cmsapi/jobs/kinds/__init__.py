"""The kinds of jobs, one file each.

`kind` is their base class, with the defaults and the types that its methods return. `evidence` has the verdicts on
lost launches, and `review` the result of a generation. The kinds depend on all three, so these are on the lowest layer
of the jobs, too.
"""
