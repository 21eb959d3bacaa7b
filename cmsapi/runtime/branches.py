"""What a client offers beyond itself: the resources and the jobs, with their models.

They are most of what the package has to load, and a client is often made where nothing waits for it yet, so that they
come with the first use of any of them.
"""

from __future__ import annotations

import hashlib

from cmsapi.jobs.launching.launcher import Launcher
from cmsapi.jobs.namespace import Jobs
from cmsapi.jobs.polling.observer import ResponseObserver
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.polling.settings import PollSettings
from cmsapi.jobs.scheduling.duration_store import DurationStore
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.resources import (
    BrandVoices,
    ContentIdeaSearches,
    Contents,
    CreditUsages,
    Folders,
    Keywords,
    KnowledgeDocuments,
    Pages,
    Prompts,
    Users,
    Workspaces,
)
from cmsapi.runtime.runtime import Runtime, Settings
from cmsapi.runtime.schedulers import scheduler_of
from cmsapi.runtime.shared_state import place_of
from cmsapi.transport.caller import OperationCaller


class Branches:
    """Hold the resources and the jobs of one client.

    Args:
        caller: Calls its operations.
        runtime: What it shares with its twins.
        settings: What it was asked to do.
    """

    def __init__(self, caller: OperationCaller, runtime: Runtime, settings: Settings) -> None:
        def find_scheduler() -> Scheduler:
            return scheduler_for(runtime)

        if runtime.first_user is not None:
            runtime.journal.balances.saw(*runtime.first_user)
        caller.observer = ResponseObserver(find_scheduler, runtime.journal.balances)
        poll_settings = PollSettings(caller, settings.polling, settings.depth)
        poller = Poller(
            poll_settings, runtime.hooks, runtime.account.base_url, find_scheduler, runtime.registry, runtime.journal
        )
        runtime.pollers.add(poller)
        launcher = Launcher(caller, poller, settings.launch)
        self.users: Users = Users(caller)
        self.workspaces: Workspaces = Workspaces(caller)
        self.folders: Folders = Folders(caller)
        self.contents: Contents = Contents(caller, launcher)
        self.pages: Pages = Pages(caller)
        self.keywords: Keywords = Keywords(caller, launcher)
        self.prompts: Prompts = Prompts(caller, launcher)
        self.brand_voices: BrandVoices = BrandVoices(caller)
        self.knowledge_documents: KnowledgeDocuments = KnowledgeDocuments(caller)
        self.content_ideas: ContentIdeaSearches = ContentIdeaSearches(caller, launcher)
        self.credit_usages: CreditUsages = CreditUsages(caller)
        self.jobs: Jobs = Jobs(poller, launcher.reconciler)


def scheduler_for(runtime: Runtime) -> Scheduler:
    """Return what says when to look at the jobs of the account on this loop."""
    # It outlives the clients, and other clients of the account share it: it takes from this one only what names things.
    state, digest, limits = runtime.state, runtime.digest, runtime.limits
    scheduler = scheduler_of((state, digest), lambda: place_of(state).limiter(digest, limits), runtime.rng)
    if runtime.place.shared:
        if scheduler.duration_store is None:
            # Durations are the service's, whatever the key.
            service = hashlib.sha256(runtime.account.base_url.encode()).hexdigest()[:16]
            scheduler.duration_store = DurationStore(lambda: place_of(state).state, service, scheduler.durations)
        scheduler.duration_store.recall()
        runtime.duration_store = scheduler.duration_store
    return scheduler
