"""Make a release: `make release VERSION=1.2.3` does what can be done on one machine, and ends with a tag to push.

Everything is prepared in a clone, so that a release that fails, or is only tried, leaves the repository as it was.
"""
