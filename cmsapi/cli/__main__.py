"""`python -m cmsapi.cli`."""

from cmsapi.cli import main

main()
