"""What a kind of job is: everything in which one kind differs from another, in one class per kind.

The other modules know jobs, launches and polls, and ask the kind for the rest. A kind has no state of its own: what one
job or one launch needs later stands in its `JobHistory` or in its entry of the journal.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

import attrs

from cmsapi.api.model import Model, OpenEnum
from cmsapi.api.models.user import User
from cmsapi.config import WordMap
from cmsapi.jobs.kinds import words as meanings
from cmsapi.jobs.kinds.doubt import Doubt, Lasting, seen_again
from cmsapi.jobs.kinds.evidence import Finding
from cmsapi.jobs.kinds.review import GenerationReview
from cmsapi.jobs.kinds.words import Words
from cmsapi.jobs.status import Phase
from cmsapi.state.entry import Entry, Fact
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import OperationCaller
from cmsapi.transport.requests import expand


class JobKind(OpenEnum):
    """List the kinds of asynchronous work (specification 3); other words are kinds that another version knows."""

    KEYWORD_ANALYSIS = "keyword_analysis"
    PROMPT_ANALYSIS = "prompt_analysis"
    IDEA_SEARCH = "idea_search"
    GENERATION = "generation"
    KNOWLEDGE_DOCUMENT = "knowledge_document"


#: No words besides those that this package lists.
NO_WORDS: WordMap = {}


@attrs.frozen
class Balance:
    """Name a balance of credits.

    Args:
        type: How the usages that draw on it call it.
        field: How the credits of an organisation call it.
    """

    type: str
    field: str

    def of(self, user: User) -> int | None:
        """Return the balance of a user's organisation, or None where the service does not show it."""
        balance = getattr(getattr(user.organization, "credits", None), self.field, None)
        return balance if isinstance(balance, int) else None


class Shown(enum.Enum):
    """Say what a document that was read for another reason shows of a job."""

    NOTHING = "nothing"
    HINT = "the job may be over"
    STATE = "its state"
    RESULT = "its state, and its whole result"


def _is_finished(observation: Observation) -> bool:
    return observation.doubt is None and observation.phase is not Phase.RUNNING


@attrs.frozen
class Observation:
    """Say what one poll means.

    Args:
        phase: The job's phase; in doubt the one in which it most likely is.
        state: The service's own word, or None.
        doubt: Why the poll says nothing certain, None when it does.
        end: The end that it shows if the doubt lasts, or None.
        other_id: Identifier of the job that is in this one's place, if another one is.
        part: What there is of a result of which some is missing, in words.
    """

    phase: Phase
    state: str | None
    doubt: Doubt | None = None
    end: Phase | None = None
    other_id: str | None = None
    part: str | None = None
    #: Whether it is certain that the job does not run any more.
    finished: bool = attrs.field(init=False, repr=False, default=attrs.Factory(_is_finished, takes_self=True))

    @property
    def about(self) -> object:
        """What makes its doubt the same as that of the poll before."""
        return (self.state, self.other_id, self.part)


def _began(history: JobHistory) -> float:
    return history.began


# A weak reference would take eight bytes more of each job that waits.
@attrs.define(weakref_slot=False)
class JobHistory:
    """Remember what the service has shown of a job: where it stands, and what decides how later polls are read.

    Args:
        began: Loop time at which the launch was answered, or the watch began.
        launched_at: The service's time of the launch, or the earliest that it may have been; None when it is not known.
        watched: Whether this client did not launch it, so that any finished word is its end.
        job_id: Identifier of the job where the kind has one and it is known.
        before: Identifier of the job that the target had before the launch, where the kind has one and it was read.
        again: Whether a job of the same target has ended here before the launch.
        fresh: Whether it was launched just now, so that a poll at once would be wasted.
        document: The newest document of the job, kept only by kinds that read their result with further requests.
        seen: Whether the job itself was seen since its launch, or since the watch began.
        saw_running: Whether it was seen running.
        earlier: The time of an earlier run, as it was shown before the launch or while this one ran, or None.
        undated: Whether null was shown for that time while this one ran, and no time before.
        lasting: The doubt that the last poll has shown, or None.
        phase: Where the job stands.
        word: The service's own word for that, or None.
        since: Loop time at which the phase began, as far as polls can tell.
        observed_at: Loop time at which the job was last observed, or None.
    """

    began: float = attrs.field(factory=lambda: asyncio.get_running_loop().time())
    launched_at: datetime | None = None
    watched: bool = False
    job_id: str | None = None
    before: str | None = None
    again: bool = False
    fresh: bool = False
    document: Model | None = None
    seen: bool = False
    saw_running: bool = False
    earlier: datetime | None = None
    undated: bool = False
    lasting: Lasting | None = None
    phase: Phase = Phase.RUNNING
    word: str | None = None
    since: float = attrs.field(default=attrs.Factory(_began, takes_self=True))
    observed_at: float | None = None

    def enter(self, phase: Phase, now: float) -> None:
        """Note the phase that the job has entered."""
        self.phase, self.since = phase, now

    def add(self, observation: Observation, now: float) -> None:
        """Remember an observation of a loop time."""
        if observation.phase is not self.phase:
            self.enter(observation.phase, now)
        self.word, self.observed_at = observation.state, now
        if observation.doubt is None:
            self.seen = True
            self.saw_running = self.saw_running or observation.phase is Phase.RUNNING
            self.lasting = None
        else:
            self.lasting = seen_again(self.lasting, observation.doubt, observation.about, now)


def job_before(entry: Entry) -> str | None:
    """Return the identifier of the job that the target of a launch had before, None where it was not read."""
    baseline = entry.facts.get("baseline")
    return baseline if isinstance(baseline, str) else None


class Kind:
    """Describe one kind of job. A subclass sets and overrides what differs from the defaults."""

    #: Its word, in tokens, in the journal and in `job.kind`.
    name: ClassVar[JobKind]

    def __str__(self) -> str:
        return self.name.value

    # Polling

    #: The operation that a poll calls, its path parameter, which takes the job's target, and what it answers with.
    operation: ClassVar[str]
    parameter: ClassVar[str]
    model: ClassVar[type[Model]]
    #: The field with the word for its state.
    state_field: ClassVar[str] = "status"
    #: The words for its state that are understood, by what they mean; `PollPolicy(words=)` adds to them.
    running: ClassVar[Words] = (*meanings.RUNNING, *meanings.WAITING)
    succeeded: ClassVar[Words] = meanings.SUCCEEDED
    failed: ClassVar[Words] = (*meanings.FAILED, *meanings.CANCELLED)
    #: The words for a result that waits for a decision; none where no result does.
    in_review: ClassVar[Words] = ()
    #: Whether a poll names the job by its own identifier, and not by the target of its launch.
    polled_by_id: ClassVar[bool] = False
    #: Seconds that such a job is expected to take before one was seen.
    initial_duration: ClassVar[float] = 60.0
    #: The documents that show something of such a job, by its target, whatever they were read for; None is `model`.
    shown_by: ClassVar[type[Model] | None] = None
    #: The field that holds the name of the job's target, as people know it; empty without one.
    name_field: ClassVar[str] = ""
    #: The documents that have this field; None is `model`.
    named_by: ClassVar[tuple[type[Model], ...] | None] = None
    #: The list whose items show the states of many such jobs, and its path parameter; empty when no list does.
    list_operation: ClassVar[str] = ""
    list_parameter: ClassVar[str] = ""

    # Result

    #: Requests that reading the result takes besides the poll that finds the job over.
    result_requests: ClassVar[float] = 0.0
    #: Whether a service that refuses to show the result of a running job lets reading the result stand for a poll. The
    #: result is a sequence, which is shorter while some of it is missing.
    reads_results_early: ClassVar[bool] = False

    # Launch

    #: The operation that launches it; empty for work that another request starts.
    launch_operation: ClassVar[str] = ""
    #: Whether launches for the same target with the same settings are the same work.
    joins: ClassVar[bool] = True
    #: The answer to a launch, whose `id` names the job. None when the target does, so that no answer has to be read.
    answer: ClassVar[type[Model] | None] = None
    #: The balance that a launch draws on, one credit each; None when it costs nothing.
    balance: ClassVar[Balance | None] = None
    #: Whether usages call its target as people do: by the field `name_field`.
    in_usages: ClassVar[bool] = False
    #: Where a person can look whether a launch happened when no evidence tells.
    where_to_look: ClassVar[str] = (
        "Look in the application whether it runs, and at client.credit_usages whether it was charged."
    )

    def check(self, target: Any) -> None:
        """Refuse what cannot be an identifier: polling it would fail for ever.

        Raises:
            ArgumentError: It cannot.
        """
        expand("{id}", {"id": target})

    # What a poll means

    def of_word(self, word: Any, words: WordMap = NO_WORDS) -> Observation:
        """Say what a word of the service means, with the words that the settings add.

        All code that asks what a word means asks here. An unlisted word or a null decides nothing.
        """
        listed = (
            (Phase.RUNNING, self.running),
            (Phase.REVIEW, self.in_review),
            (Phase.SUCCEEDED, self.succeeded),
            (Phase.FAILED, self.failed),
        )
        phase = meanings.phase_of(word, self.name, listed, words)
        doubt = Doubt.UNLISTED if phase is Phase.UNKNOWN else None
        return Observation(phase, None if word is None else str(word), doubt)

    def interpret(self, document: Any, history: JobHistory, age: float, words: WordMap = NO_WORDS) -> Observation:
        """Say what a document of the job means, without a request, a clock or chance.

        The history takes the observation in afterwards, when it counts as a poll.

        Args:
            document: The document.
            history: What was shown of the job before.
            age: Seconds for which the launch has certainly been answered.
            words: The words of the service that have a meaning of their own.
        """
        return self.of_word(getattr(document, self.state_field), words)

    def shown(self, document: Any, words: WordMap = NO_WORDS) -> Shown:
        """Say what a document that was read for another reason shows of its job; items of lists may show less."""
        return Shown.STATE

    def list_of(self, document: Any) -> str | None:
        """Return what names the list on which a document stands, or None."""
        return None

    # Its result

    async def read_result(
        self, caller: OperationCaller, target: str, document: Any, history: JobHistory, options: CallOptions
    ) -> Any:
        """Return what the waiters of a job get, from its newest document and further requests with these options."""
        return document

    async def read_review(self, caller: OperationCaller, entry: Entry) -> GenerationReview | None:
        """Read whether the result of a launch still waits for its decision, and return it if so."""
        return None

    def missing(self, result: Any) -> str | None:
        """Say what there is of a result that lacks some of what the service announces; None when it is complete.

        Only a result that takes further requests is asked.
        """
        return None

    def job_target(self, target: str, job_id: str | None) -> str:
        """Return the target of the job that a launch for a target has started."""
        return job_id if self.polled_by_id and job_id is not None else target

    # Evidence of its launch

    async def read_baseline(self, caller: OperationCaller, target: str) -> Mapping[str, Fact]:
        """Read what is so before a launch, as facts for its entry."""
        return {}

    async def read_evidence(self, caller: OperationCaller, entry: Entry) -> Any:
        """Read the document that may show a launch whose answer is lost."""
        return None

    def judge_shown(
        self, entry: Entry, document: Any, now: datetime | None, words: WordMap = NO_WORDS
    ) -> Finding | None:
        """Say what that document shows of a launch, at the service's time if that is known; None when that is nothing.

        Only then the books are asked: a finding that it is unknown is the last word.
        """
        return None

    async def is_over(self, caller: OperationCaller, entry: Entry) -> bool:
        """Tell whether a launch of long ago is over, so that its entry may be deleted."""
        return True
