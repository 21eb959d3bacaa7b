"""The logger ``cmsapi``, and a function that configures it from an environment variable."""

from __future__ import annotations

import logging
import os

logger: logging.Logger = logging.getLogger("cmsapi")


def log_to_stderr() -> None:
    """If ``CMSAPI_LOG`` is a log level, set that level, and log to stderr unless the program has set up handlers."""
    level = logging.getLevelNamesMapping().get(os.environ.get("CMSAPI_LOG", "").upper())
    if level is not None:
        if not logger.hasHandlers():  # else the program has decided where its log goes
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
            logger.addHandler(handler)
        logger.setLevel(level)
