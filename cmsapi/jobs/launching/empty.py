"""Tell a refused launch for which no credits are left from other refusals.

The specification names no status and no code for it (section 4.5), so the words of the service decide.
"""

from __future__ import annotations

import contextlib
import re

from cmsapi.errors import APIError, CMSError, OutOfCreditsError
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.jobs.tracked import PollSettings

_WORDS = re.compile(r"\bcredits?\b", re.IGNORECASE)
# Payment required, forbidden, conflict, unprocessable.
_STATUSES = (402, 403, 409, 422)


def is_about_credits(error: APIError) -> bool:
    """Tell whether the service refuses a launch because of its credits."""
    return not error.in_doubt and error.status in _STATUSES and _WORDS.search(error.message) is not None


async def out_of_credits(request: LaunchRequest, refusal: APIError, settings: PollSettings | None) -> OutOfCreditsError:
    """Make the error of a launch that the service refuses because of its credits.

    With settings it tells the balance, which takes one request.
    """
    left = None
    if settings is not None and (balance := request.kind.balance) is not None:
        # Without an answer the refusal itself tells enough.
        with contextlib.suppress(CMSError):
            left = balance.of(await settings.read_user())
    told = "" if left is None else f" The balance is {left:,}."
    said = str(refusal).partition("\n")[0]
    return OutOfCreditsError(
        f"The {request} was refused, because no credits are left: {said}.{told} Nothing was launched or charged. "
        "Credits are bought in the application settings (organization); `client.me()` shows the balances."
    )
