"""What differs from one kind of job to another, one file a kind.

`kind` is their base, with the defaults and what its methods return. `evidence` holds what they judge a lost launch by,
`review` is the result of a generation. The kinds cannot do without them, so that they stay on this lowest layer of the
jobs.
"""
