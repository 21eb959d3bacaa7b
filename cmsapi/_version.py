"""The package version, which the build reads."""

from __future__ import annotations

__version__ = "0.4.0.dev0"
