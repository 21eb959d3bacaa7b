"""The jobs of one client: what launches and polls them. It is most of what the package has to load."""

from __future__ import annotations

from cmsapi.jobs.launching.launcher import Launcher
from cmsapi.jobs.polling.observer import ResponseObserver
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import PollSettings
from cmsapi.runtime.runtime import Runtime
from cmsapi.runtime.settings import Settings
from cmsapi.transport.caller import OperationCaller


class ClientJobs:
    """Make the launcher and the poller of one client, once the client is bound to its loop.

    Args:
        runtime: What the client shares.
        settings: The settings that it has of its own.
        caller: Calls its operations; what it reads is shown to jobs.
    """

    def __init__(self, runtime: Runtime, settings: Settings, caller: OperationCaller) -> None:
        self.caller: OperationCaller = caller
        self._runtime = runtime
        self._settings = settings
        self._launcher: Launcher
        runtime.when_open(self._make)

    def open(self) -> Launcher:
        """Return the launcher.

        Raises:
            ClientClosedError: The client is closed, belongs to another loop, or no loop is running.
        """
        self._runtime.open()
        return self._launcher

    def _make(self) -> None:
        runtime, settings, caller = self._runtime, self._settings, self.caller
        scheduler, journal = runtime.shared.scheduler(runtime.rng), runtime.journal
        poll_settings = PollSettings(caller, settings.polling, settings.depth)
        poller = Poller(poll_settings, runtime.hooks, runtime.account.base_url, scheduler, runtime.registry)
        runtime.pollers.add(poller)
        caller.observe = ResponseObserver(scheduler, journal.balances).observe
        self._launcher = Launcher(poller, settings.launch, runtime.pending)
