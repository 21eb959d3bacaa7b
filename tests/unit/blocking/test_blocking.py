"""Code without an event loop: calls, lists, jobs, fan-outs, batches, reviews and errors, on real threads."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator

import pytest

import cmsapi
import cmsapi.blocking
from cmsapi.sandbox import Sandbox

HURRIED = cmsapi.PollPolicy(min_interval=0.05, max_interval=0.1)


@pytest.fixture
def box(request: pytest.FixtureRequest) -> Sandbox:
    """A service whose jobs take a moment, or as long as a test says, and which a client's own thread runs."""
    return Sandbox(durations=getattr(request, "param", 0.3))


@pytest.fixture
def client(box: Sandbox) -> Iterator[cmsapi.blocking.Client]:
    """A client of it that polls often."""
    with cmsapi.blocking.Client(box.api_key, base_url=box.base_url, transport=box.transport, polling=HURRIED) as client:
        yield client


def test_a_call_returns_what_is_awaited_elsewhere(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """Methods, properties and requests give plain values."""
    assert client.me().id == box.user_ids[0]
    assert client.request("GET", "/v1/me")["id"] == box.user_ids[0]
    content = client.contents.create(box.workspace_id, "Title", html="<p></p>")
    assert client.contents.edit(content.id, lambda old: {"title": f"{old.title}!"}).title == "Title!"
    assert client.contents.delete(content.id) is None  # type: ignore[func-returns-value]
    assert client.statistics.requests > 0
    assert client.rate_limit.limit == 1000
    assert client.with_options(headers={"X-A": "b"}).me().id == box.user_ids[0]


def test_lists_are_iterators(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """Items, pages, the first page, and a list that the service does not page."""
    page = next(page for page in client.pages.list(box.workspace_id) if len(list(client.keywords.list(page.id))) > 2)
    keywords = client.keywords.list(page.id, limit=2)
    assert [each.id for each in keywords] == [each.id for part in keywords.pages(prefetch=1) for each in part]
    assert len(keywords.first_page()) == 2
    assert next(keywords.items()) == next(iter(keywords))
    assert isinstance(client.folders.list(box.workspace_id).first_page(), cmsapi.FolderTree)
    assert keywords.total_changed is False
    assert len(list(client.credit_usages.list())) == client.credit_usages.list().first_page().total


def test_a_whole_table_is_no_list_of_items(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """Iterating over a table gives the names of its columns, which would be launched."""
    with pytest.raises(cmsapi.ArgumentError, match="Pass one column"):
        client.jobs.map(client.keywords.analyze, pytest.importorskip("pandas").DataFrame({"id": box.keyword_ids}))
    assert box.ledger.launches() == []


@pytest.mark.parametrize("box", [1000], indirect=True)
def test_a_job_is_waited_for(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """Its result comes from `wait`, and its token attaches it again."""
    job = client.keywords.analyze(box.keyword_ids[0])
    assert (job.done(), job.target, job.kind) == (False, box.keyword_ids[0], "keyword_analysis")
    with pytest.raises(cmsapi.JobWaitTimeoutError) as late:
        job.wait(timeout=0)
    assert client.jobs.attach(late.value.token or "") == job
    assert client.jobs.attach(job.token) == job
    box.finish(job.target)
    assert job.wait().analysis_status == "success"
    assert job.result() == job.wait()
    assert job.exception() is None
    assert client.jobs.status(job.token).done
    assert [type(event) for event in job.events()] == [cmsapi.Finished]


@pytest.mark.parametrize("box", [1000], indirect=True)
def test_what_is_known_outlives_the_client(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """After the end of the client a job still has its token and result, and a call is refused."""
    job, other = (client.keywords.analyze(keyword_id) for keyword_id in box.keyword_ids[:2])
    box.finish(job.target)
    job.wait()
    client.close()
    client.close()
    assert job.result().analysis_status == "success"
    assert other.token.startswith("cmsjob")
    assert not other.done()
    with pytest.raises(cmsapi.ClientClosedError, match="closed"):
        other.wait()


def test_fan_outs_are_iterators(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """Outcomes have blocking jobs; items may come from a generator, and the launch from a function of the user."""
    items = box.keyword_ids[:4]
    with client.jobs.map(client.keywords.analyze, (item for item in items)) as outcomes:
        found = {outcome.item: outcome for outcome in outcomes}
        assert outcomes.progress.finished == 4
        assert len(outcomes.rows()) == 4
    assert set(found) == set(items)
    assert all(isinstance(outcome, cmsapi.blocking.Succeeded) for outcome in found.values())
    assert {outcome.job.wait() for outcome in found.values() if outcome.ok is True} == {
        outcome.value for outcome in found.values()
    }

    def search(keyword: str) -> cmsapi.blocking.Job[cmsapi.ContentIdeas]:
        assert threading.current_thread() is not threading.main_thread()
        workspace = client.workspaces.get(box.workspace_id)
        return client.content_ideas.search(workspace.id, keyword)

    with client.jobs.map(search, ["tents", "boots"], max_credits=1) as outcomes_of_two:
        assert sorted(outcome.ok for outcome in outcomes_of_two) == [False, True]


@pytest.mark.slow
def test_as_completed_and_gather_take_blocking_jobs(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """Jobs go back to the loop, and more may be added."""
    first, second, third = (client.keywords.analyze(keyword_id) for keyword_id in box.keyword_ids[:3])
    with client.jobs.as_completed(job for job in (first, second)) as outcomes:
        outcomes.add(third)
        assert {outcome.job for outcome in outcomes} == {first, second, third}
    assert [keyword.id for keyword in client.jobs.gather(first, second)] == list(box.keyword_ids[:2])


@pytest.mark.slow
def test_a_batch_pays_once(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """A run that is left is completed by the next one; keys are computed in the caller's thread."""

    def key(item: str) -> str:
        assert threading.current_thread() is threading.main_thread()
        return f"key of {item}"

    for _ in range(2):
        with client.jobs.batch("nightly") as batch:
            for _ in batch.map(client.keywords.analyze, box.keyword_ids[:3], key=key, in_flight=1):
                break
    with client.jobs.batch("nightly") as batch:
        outcomes = list(batch.map(client.keywords.analyze, box.keyword_ids[:3], key=key, ordered=True))
        assert [outcome.item for outcome in outcomes] == list(box.keyword_ids[:3])
        assert len(batch.ended) == 3
    assert len(box.ledger.launches()) == 3


@pytest.mark.slow
def test_any_thread_sees_how_far_a_batch_is(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """Status, list and overview are plain values; `on_done` may call the client, and is called once."""
    told = list[tuple[cmsapi.BatchStatus, str]]()
    with client.jobs.batch("nightly") as batch:
        list(
            batch.map(
                client.keywords.analyze,
                box.keyword_ids[:3],
                on_done=lambda status: told.append((status, client.me().id)),
            )
        )
    status = client.jobs.batch("nightly").refresh()
    assert (status.done, status.progress.finished, status.progress.credits) == (True, 3, 3)
    assert [(each.name, user) for each, user in told] == [("nightly", box.user_ids[0])]
    assert [each.name for each in client.jobs.batches()] == ["nightly"]
    assert [each.done for each in client.jobs.batch("nightly").follow()] == [True]
    assert client.jobs.overview().batches == (status,)


def test_a_batch_of_models_needs_a_key(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """The text of a keyword changes with its analysis, so that the next run would pay for it again."""
    keywords = [client.keywords.get(box.keyword_ids[0])]
    with client.jobs.batch("models") as batch, pytest.raises(cmsapi.ArgumentError, match="`key` must be given"):
        list(batch.map(lambda keyword: client.keywords.analyze(keyword.id), keywords))
    assert not box.ledger.launches()


@pytest.mark.slow
def test_a_review_is_decided_in_a_worker_thread(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """The hook gets a blocking review, and may call the client; without a hook the caller decides."""
    seen = []

    def decide(review: cmsapi.blocking.GenerationReview) -> cmsapi.ReviewChoice:
        seen.append(client.contents.get(review.content_id).id)
        return "confirm"

    review = client.contents.generate(box.content_ids[0], on_review=decide).wait()
    assert (seen, review.decision) == ([box.content_ids[0]], "confirm")
    review = client.contents.generate(box.content_ids[1]).review()
    assert [each.content_id for each in client.jobs.reviews()] == [box.content_ids[1]]
    assert review.confirm().id == box.content_ids[1]
    assert review.content is not None
    assert client.contents.review(box.content_ids[1]).generation.id == review.generation.id


def test_resume_gives_blocking_jobs(box: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A launch that one client left is waited for by the next one."""
    state = f"sqlite:///{tmp_path_factory.mktemp('state') / 'state.db'}"

    def connect() -> cmsapi.blocking.Client:
        return cmsapi.blocking.Client(
            box.api_key, base_url=box.base_url, transport=box.transport, polling=HURRIED, state=state
        )

    with connect() as client:
        client.keywords.analyze(box.keyword_ids[0])
    with connect() as client:
        assert [each.target for each in client.jobs.journal()] == [box.keyword_ids[0]]
        (job,) = client.jobs.resume().jobs
        assert job.wait().id == box.keyword_ids[0]


def test_errors_are_the_same_and_short(client: cmsapi.blocking.Client) -> None:
    """An error has its class, and its traceback no frame of threads, futures or the loop."""
    with pytest.raises(cmsapi.NotFoundError) as error:
        client.keywords.get("kwd_none")
    files = [frame.filename for frame in traceback.extract_tb(error.value.__traceback__)]
    assert not [file for file in files if "anyio" in file or "asyncio" in file or "concurrent" in file]
    assert files[0] == __file__
    assert error.value.__context__ is None
    with pytest.raises(cmsapi.ConfigError):
        cmsapi.blocking.Client("none")


def test_an_error_names_its_job(box: Sandbox, client: cmsapi.blocking.Client) -> None:
    """The error of a job has its token and a blocking job, and so has the error of an outcome."""
    job = client.keywords.analyze(box.keyword_ids[0])
    box.finish(box.keyword_ids[0], "failed")
    with pytest.raises(cmsapi.JobFailedError) as error:
        job.wait()
    assert isinstance(error.value.job, cmsapi.blocking.Job)
    (outcome,) = client.jobs.as_completed([job])
    assert isinstance(outcome.error, cmsapi.JobFailedError)


def test_coroutine_functions_are_refused(client: cmsapi.blocking.Client) -> None:
    """A function of async code would never be awaited."""

    async def launch(item: str) -> object:
        raise NotImplementedError

    with pytest.raises(cmsapi.ArgumentError, match="plain function"):
        client.jobs.map(launch, ["a"])  # type: ignore[arg-type]
    with pytest.raises(cmsapi.ArgumentError, match="`launch`"):
        client.jobs.map(None, ["a"])  # type: ignore[arg-type]
    with pytest.raises(cmsapi.ArgumentError, match="`items`"):
        client.jobs.map(client.keywords.analyze, 5)  # type: ignore[arg-type]
    with pytest.raises(cmsapi.ArgumentError, match="Expected a Job"):
        client.jobs.as_completed(["token"])  # type: ignore[arg-type]


def test_leaving_a_fan_out_launches_no_more(box: Sandbox) -> None:
    """A function that still works on an item when its fan-out is left cannot launch afterwards."""
    with cmsapi.blocking.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        left, refused = threading.Event(), threading.Event()
        working = threading.Event()

        def launch(item: str) -> cmsapi.blocking.Job[cmsapi.Keyword]:
            working.set()
            left.wait(10)
            try:
                return client.keywords.analyze(item)
            except cmsapi.ClientClosedError:
                refused.set()
                raise

        with client.jobs.map(launch, box.keyword_ids[:1]) as outcomes:
            threading.Thread(target=lambda: next(outcomes, None)).start()
            assert working.wait(10)
        left.set()
        assert refused.wait(10)
        assert box.ledger.launches() == []


def test_guessed_names_tell_the_blocking_ones(client: cmsapi.blocking.Client) -> None:
    """Advice does not speak of `await`."""
    guesses: dict[Callable[[], object], str] = {
        (lambda: client.aclose): r"client\.close\(\)",  # type: ignore[attr-defined]
        (lambda: client.jobs.run): r"analyze\(keyword_id\)\.wait\(\)",  # type: ignore[attr-defined]
        (lambda: client.keywords.update): "It has analyze, .*create",  # type: ignore[attr-defined]
    }
    for guess, advice in guesses.items():
        with pytest.raises(AttributeError, match=advice):
            guess()


def test_a_list_is_read_before_it_is_indexed_or_counted(client: cmsapi.blocking.Client) -> None:
    """Both are refused with the ways that send requests; a list as such is true, and `list` takes it."""
    workspaces = client.workspaces.list()
    with pytest.raises(TypeError, match=r"`\.first_page\(\)\[0\]` is its first item, `list\(…\)` are all"):
        workspaces[0]  # type: ignore[index]
    with pytest.raises(TypeError, match=r"`\.first_page\(\)\.total`"):
        len(workspaces)  # type: ignore[arg-type]
    assert bool(workspaces)
    assert len(list(workspaces)) == 1


def test_advice_and_completion_name_no_internals(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """What stands for the async objects is not shown, neither by an error nor by completion."""
    for each in (client, client.keywords, client.users.list(), client.jobs):
        with pytest.raises(AttributeError) as caught:
            each.nonsense  # type: ignore[union-attr]  # noqa: B018
        assert not {"asynchronous", "thread", "mirrors", "copies"} & {*dir(each), *str(caught.value).split()}
        assert "thread" not in str(caught.value)


@pytest.mark.parametrize("box", [1000], indirect=True)
def test_a_result_too_early_speaks_of_no_await(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """The error names the methods that wait and poll, which are the same here."""
    job = client.keywords.analyze(box.keyword_ids[0])
    with pytest.raises(cmsapi.JobError, match=r"`job\.wait\(\)` waits for it, and `job\.refresh\(\)`") as caught:
        job.result()
    assert "await" not in str(caught.value)


def test_a_warning_points_to_the_line_of_the_caller(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """The call runs in another thread, but the warning names this file."""
    client.contents.get(box.content_ids[0])
    client.keywords.get(box.keyword_ids[0])
    with pytest.warns(cmsapi.IdentifierWarning) as told, pytest.raises(cmsapi.NotFoundError):
        client.keywords.get(box.content_ids[0])
    assert [each.filename for each in told] == [__file__]
