"""The command ``cmsapi``."""
