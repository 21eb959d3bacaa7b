"""`python -m cmsapi`."""

from cmsapi.cli import main

main()
