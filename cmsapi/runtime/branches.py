"""What a client offers beyond itself: the resources and the jobs, with their models.

They are most of what the package has to load, and a client is often made where nothing waits for it yet, so that they
come with the first use of any of them.
"""

from __future__ import annotations

import hashlib

from cmsapi.jobs.launching.launcher import Launcher
from cmsapi.jobs.namespace import Jobs
from cmsapi.jobs.polling.observer import Witness
from cmsapi.jobs.polling.poller import Desk
from cmsapi.jobs.polling.settings import PollSettings
from cmsapi.jobs.scheduling.duration_store import Remembering
from cmsapi.jobs.scheduling.scheduler import Pacer
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
from cmsapi.runtime.runtime import Settings, Trunk
from cmsapi.runtime.schedulers import pacer_of
from cmsapi.runtime.shared_state import place_of
from cmsapi.transport.caller import Core


class Branches:
    """Hold the resources and the jobs of one client.

    Args:
        core: Calls its operations.
        trunk: What it shares with its twins.
        settings: What it was asked to do.
    """

    def __init__(self, core: Core, trunk: Trunk, settings: Settings) -> None:
        def find_pacer() -> Pacer:
            return pacer_for(trunk)

        if trunk.first_user is not None:
            trunk.journal.marks.saw(*trunk.first_user)
        core.witness = Witness(find_pacer, trunk.journal.marks)
        poll_settings = PollSettings(core, settings.polling, settings.depth)
        desk = Desk(poll_settings, trunk.hooks, trunk.account.base_url, find_pacer, trunk.ongoing, trunk.journal)
        trunk.desks.add(desk)
        launcher = Launcher(core, desk, settings.launch)
        self.users: Users = Users(core)
        self.workspaces: Workspaces = Workspaces(core)
        self.folders: Folders = Folders(core)
        self.contents: Contents = Contents(core, launcher)
        self.pages: Pages = Pages(core)
        self.keywords: Keywords = Keywords(core, launcher)
        self.prompts: Prompts = Prompts(core, launcher)
        self.brand_voices: BrandVoices = BrandVoices(core)
        self.knowledge_documents: KnowledgeDocuments = KnowledgeDocuments(core)
        self.content_ideas: ContentIdeaSearches = ContentIdeaSearches(core, launcher)
        self.credit_usages: CreditUsages = CreditUsages(core)
        self.jobs: Jobs = Jobs(desk, launcher.reconciler)


def pacer_for(trunk: Trunk) -> Pacer:
    """Return what says when to look at the jobs of the account on this loop."""
    # It outlives the clients, and other clients of the account share it: it takes from this one only what names things.
    state, digest, limits = trunk.state, trunk.digest, trunk.limits
    pacer = pacer_of((state, digest), lambda: place_of(state).limiter(digest, limits), trunk.rng)
    if trunk.place.shared:
        if pacer.remembering is None:
            # Durations are the service's, whatever the key.
            service = hashlib.sha256(trunk.account.base_url.encode()).hexdigest()[:16]
            pacer.remembering = Remembering(lambda: place_of(state).state, service, pacer.durations)
        pacer.remembering.recall()
        trunk.remembering = pacer.remembering
    return pacer
