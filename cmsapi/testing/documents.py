"""Make documents for answers of your own, with times that fit a launch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

# A test may make the document long before its launch.
_AHEAD = timedelta(hours=1)


def finished_keyword(keyword_id: str, keyword: str = "hats", *, status: str = "success", **more: Any) -> dict[str, Any]:
    """Make the document of a keyword whose analysis has ended, for the polls of a mocked launch.

    An end counts for a launch only if it is not older than the launch. So `lastAnalyzedAt` is an hour from now: the
    document fits every launch of the next hour, and `mocked_aiohttp` may have it before the launch.

    Args:
        keyword_id: Identifier of the keyword.
        keyword: The search term.
        status: Value of `analysisStatus`: `"success"` or `"failed"`.
        **more: Further keys of the document, such as `searchVolume=90`.
    """
    analyzed_at = (datetime.now(UTC) + _AHEAD).isoformat(timespec="seconds")
    return {
        "id": keyword_id,
        "keyword": keyword,
        "analysisStatus": status,
        "lastAnalyzedAt": analyzed_at,
        **more,
    }
