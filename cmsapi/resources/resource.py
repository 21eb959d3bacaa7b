"""What all resources are made of."""

from __future__ import annotations

from collections.abc import Callable

from cmsapi.guesses import Hinting
from cmsapi.jobs.launching.launcher import Launcher
from cmsapi.transport.caller import OperationCaller
from cmsapi.unpicklable import Unpicklable


class Resource(Hinting, Unpicklable):
    """Offer the operations of one resource.

    Args:
        caller: Calls them.
        open_launcher: Returns the client's launcher; raises when the client must not be used.
    """

    def __init__(self, caller: OperationCaller, open_launcher: Callable[[], Launcher]) -> None:
        self._caller = caller
        self._open_launcher = open_launcher
