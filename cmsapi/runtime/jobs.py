"""The launchers and pollers of clients that share a runtime; they import most of the package."""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable

from cmsapi.api.models.user import User
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.launching.books import Books
from cmsapi.jobs.launching.launcher import Launcher
from cmsapi.jobs.launching.pending import PendingLaunches
from cmsapi.jobs.polling.observer import ResponseObserver
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.polling.registry import JobRegistry
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.tracked import PollSettings
from cmsapi.runtime.accounts import SharedAccount
from cmsapi.runtime.settings import Settings
from cmsapi.transport.caller import Observe, OperationCaller


class SharedJobs:
    """Hold the jobs in flight, the journal to which paid work is written before it is sent, and the scheduler.

    Args:
        shared: What the clients of the account share on the loop.
        rng: Source of chance.
        wall: Tells the time on which processes agree, in seconds since the epoch.
        first_user: The user that was read before, if any, and when: the first launch needs the balances.
    """

    def __init__(
        self,
        shared: SharedAccount,
        rng: random.Random,
        wall: Callable[[], float],
        first_user: tuple[User, float] | None,
    ) -> None:
        account = shared.account
        self.scheduler: Scheduler = shared.scheduler(rng)
        self.journal: LaunchJournal = LaunchJournal(shared.state, account.digest, account.base_url, wall=wall)
        if first_user is not None:
            self.journal.balances.saw(*first_user)
        observer = ResponseObserver(self.scheduler, self.journal.balances)
        self.observe: Observe = observer.observe
        self._base_url = account.base_url
        self._registry = JobRegistry(self.journal, observer.names)
        self._pending = PendingLaunches()
        self._books = Books(self._registry)
        # Weak, because a client may be made for one call; a poller with work to do is held by its tasks.
        self._pollers: weakref.WeakSet[Poller] = weakref.WeakSet()

    async def aclose(self) -> None:
        """Stop polling, and release the entries of the journal."""
        for poller in tuple(self._pollers):
            await poller.aclose()
        await self.journal.aclose()

    def launcher(self, settings: Settings, caller: OperationCaller) -> Launcher:
        """Make the launcher and the poller of one client, with the settings that it has of its own."""
        poll_settings = PollSettings(caller, settings.polling, settings.depth)
        poller = Poller(poll_settings, self._base_url, self.scheduler, self._registry)
        self._pollers.add(poller)
        # From now on the documents that this client reads are shown to jobs directly.
        caller.observe = self.observe
        return Launcher(poller, settings.launch, self._pending, self._books)
