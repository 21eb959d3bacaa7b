"""The log, and how the environment enables it."""

from __future__ import annotations

import logging
import os

logger: logging.Logger = logging.getLogger("cmsapi")


def log_to_stderr() -> None:
    """Write the log to stderr if ``CMSAPI_LOG`` names a level, such as ``info`` or ``debug``."""
    level = logging.getLevelNamesMapping().get(os.environ.get("CMSAPI_LOG", "").upper())
    if level is not None:
        if not logger.hasHandlers():  # else the program has decided where its log goes
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
            logger.addHandler(handler)
        logger.setLevel(level)
