"""The pytest plugin of cmsapi."""
