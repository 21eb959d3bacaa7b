"""Say which classes `cmsapi.blocking` has, and from which async ones they are written."""

from __future__ import annotations

import attrs


@attrs.frozen
class Made:
    """Say how a class is written.

    Args:
        name: The class.
        module: Its module.
        bases: What the blocking class inherits.
        more: Modules and classes whose methods it inherits in the async client.
        without: Names that only async code needs.
        doc: The docstring, where that of the async class does not fit.
        copied: Whether values are copied into it.
    """

    name: str
    module: str
    bases: str = "Mirror"
    more: tuple[tuple[str, str], ...] = ()
    without: tuple[str, ...] = ()
    doc: str | None = None
    copied: bool = False


_FANOUT = "cmsapi.jobs.fanout"
_OUTCOMES = (f"{_FANOUT}.stream", "Outcomes")
_STREAM = (f"{_FANOUT}.stream", "OutcomeStream")
_CLIENT_DOC = """Call the Content Marketing Service from code without an event loop.

    The client runs the async client in a thread of its own, which the first call starts. Use it with `with`, or call
    `close()` when you are done. Any number of threads may share it. After a fork it can be used if it was not used
    before.
"""

FILES: dict[str, tuple[str, str, tuple[Made, ...]]] = {
    "jobs.py": (
        "Jobs, fan-outs and batches for code without an event loop.",
        "from cmsapi.blocking.mirror import Context, Iteration, Mirror, copies, in_worker, keyed, whole\n",
        (
            Made(
                "Job",
                "cmsapi.jobs.job",
                "Mirror, Generic[R]",
                without=("tracked",),
                doc=(
                    "Stand for one piece of asynchronous work; made by launches, `jobs.attach` and `jobs.watch`.\n\n"
                    "    `wait()` gives the result, as often and from as many threads as wanted."
                ),
            ),
            Made("Succeeded", f"{_FANOUT}.outcome", copied=True),
            Made("Failed", f"{_FANOUT}.outcome", copied=True),
            Made(
                "GenerationReview",
                "cmsapi.jobs.kinds.review",
                without=("follow", "on_decided"),
                doc="Hold a generation in review, and decide on it.",
            ),
            Made(
                "Fanout", f"{_FANOUT}.fan_out", "Context, Iteration[Outcome[I, R]], Generic[I, R]", (_STREAM, _OUTCOMES)
            ),
            Made(
                "AsCompleted",
                f"{_FANOUT}.as_completed",
                "Context, Iteration[Outcome[str, R]], Generic[R]",
                (_STREAM, _OUTCOMES),
            ),
            Made("BatchOutcomes", f"{_FANOUT}.batch", "Iteration[Outcome[I, R]], Generic[I, R]", (_OUTCOMES,)),
            Made(
                "Batch",
                f"{_FANOUT}.batch",
                "Context",
                doc="Run a named batch; a context manager, made by `client.jobs.batch`.",
            ),
            Made("Resumed", "cmsapi.jobs.launching.recovery", copied=True),
            Made(
                "Jobs", "cmsapi.jobs.namespace", without=("run", "show"), doc="Launch many jobs, and find jobs again."
            ),
        ),
    ),
    "resources.py": (
        "The operations of the service, resource by resource, for code without an event loop.",
        """from cmsapi.blocking.jobs import GenerationReview, Job, ReviewHook
from cmsapi.blocking.lists import Paginator
from cmsapi.blocking.mirror import Mirror, in_worker
""",
        tuple(
            Made(name, f"cmsapi.resources.{module}")
            for name, module in {
                "Users": "users",
                "Workspaces": "workspaces",
                "Folders": "folders",
                "Contents": "contents",
                "Pages": "pages",
                "Keywords": "keywords",
                "Prompts": "prompts",
                "BrandVoices": "brand_voices",
                "KnowledgeDocuments": "knowledge_documents",
                "ContentIdeaSearches": "content_ideas",
                "CreditUsages": "credit_usages",
            }.items()
        ),
    ),
    "client.py": (
        "The client for code without an event loop.",
        """from cmsapi.blocking.jobs import Jobs
from cmsapi.blocking.mirror import ClientMirror
from cmsapi.blocking.resources import BrandVoices, ContentIdeaSearches, Contents, CreditUsages, Folders
from cmsapi.blocking.resources import Keywords, KnowledgeDocuments, Pages, Prompts, Users, Workspaces
""",
        (Made("Client", "cmsapi.client", "ClientMirror", doc=_CLIENT_DOC),),
    ),
}
