"""Tools for the tests of programs that use cmsapi."""
