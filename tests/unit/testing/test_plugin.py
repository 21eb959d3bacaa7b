"""The plugin, in separate runs of pytest."""

from __future__ import annotations

import fnmatch
import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

AUTO = "[pytest]\nasyncio_mode = auto\naddopts = --strict-markers\nasyncio_default_fixture_loop_scope = function\n"
STRICT = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"


def test_fixtures_give_a_sandbox_and_a_client_of_it(pytester: pytest.Pytester) -> None:
    """Markers on module, class and test set them up, and the nearest counts."""
    pytester.makeini(AUTO)
    pytester.makepyfile(
        """
        import asyncio, pytest, cmsapi
        from cmsapi.sandbox import Fixed
        from cmsapi.testing import assert_requests, Fault

        pytestmark = [pytest.mark.virtual_time, pytest.mark.cms_sandbox(keywords=3, durations=Fixed(3600))]

        async def test_an_hour(cms_client, cms_sandbox):
            assert len(cms_sandbox.keyword_ids) == 3
            await (await cms_client.keywords.analyze(cms_sandbox.keyword_ids[0]))
            assert asyncio.get_running_loop().time() >= 3600
            assert_requests(cms_sandbox, "POST *", times=1)

        @pytest.mark.cms_sandbox(faults=[Fault(status=503)], keywords=5)
        @pytest.mark.cms_client(retry=cmsapi.RetryPolicy(max_attempts=1))
        async def test_nearest(cms_client, cms_sandbox):
            assert len(cms_sandbox.keyword_ids) == 5
            with pytest.raises(cmsapi.ServiceUnavailableError):
                await cms_client.me()

        def test_plain(cms_sandbox):
            assert cms_sandbox.keyword_ids
        """
    )
    pytester.runpytest_inprocess("-p", "no:randomly").assert_outcomes(passed=3)


def test_strict_mode_works_as_well(pytester: pytest.Pytester) -> None:
    """In pytest-asyncio's strict mode, its default, the client is there too, and is closed at the end."""
    pytester.makeini(STRICT)
    pytester.makepyfile(
        """
        import pytest, cmsapi
        seen = []

        @pytest.mark.asyncio
        @pytest.mark.virtual_time
        async def test_me(cms_client):
            seen.append(cms_client)
            await cms_client.me()

        @pytest.mark.asyncio
        async def test_closed():
            with pytest.raises(cmsapi.ClientClosedError, match="closed"):
                await seen[0].me()
        """
    )
    pytester.runpytest_inprocess("-p", "no:randomly").assert_outcomes(passed=2)


def test_the_plugin_of_anyio_runs_the_client(pytester: pytest.Pytester) -> None:
    """Without pytest-asyncio, anyio's plugin runs the client."""
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.anyio
        async def test_me(cms_client):
            assert (await cms_client.me()).first_name == "Ada"
        """
    )
    absent = ("asyncio", "looptime_plugin", "looptime_chronometers", "looptime_timeproxies")
    words = [word for name in absent for word in ("-p", f"no:{name}")]
    pytester.runpytest_inprocess(*words).assert_outcomes(passed=1)


def test_virtual_time_is_that_of_plain_tests_as_well(pytester: pytest.Pytester) -> None:
    """The blocking client waits for hours at once, while no time passes for the test's own functions."""
    pytester.makeini(AUTO)
    pytester.makepyfile(
        """
        import asyncio, time, pytest, cmsapi, cmsapi.blocking
        from cmsapi.sandbox import Fixed

        pytestmark = [pytest.mark.virtual_time, pytest.mark.cms_sandbox(durations=Fixed(3600))]

        @pytest.fixture
        def client(cms_sandbox):
            with cmsapi.blocking.Client(
                cms_sandbox.api_key, base_url=cms_sandbox.base_url, transport=cms_sandbox.transport
            ) as client:
                yield client

        def test_wait(client, cms_sandbox):
            job = client.keywords.analyze(cms_sandbox.keyword_ids[0])
            time.sleep(0.1)
            with pytest.raises(cmsapi.JobWaitTimeoutError):
                job.wait(timeout=60)
            assert job.wait().analysis_status == "success"

        def test_own_functions(client, cms_sandbox):
            def launch(keyword_id):
                time.sleep(0.1)
                return client.keywords.analyze(keyword_id)

            def decide(review):
                time.sleep(0.1)
                return "confirm"

            outcomes = list(client.jobs.map(launch, cms_sandbox.keyword_ids[:2], timeout=4000))
            assert all(outcome.ok for outcome in outcomes)
            content = client.contents.list(cms_sandbox.workspace_id).first_page()[0]
            assert client.contents.generate(content.id, on_review=decide).wait().decision == "confirm"

        async def test_in_a_thread(client, cms_sandbox):
            job = await asyncio.to_thread(client.keywords.analyze, cms_sandbox.keyword_ids[0])
            assert (await asyncio.to_thread(job.wait)).analysis_status == "success"

        def test_loop_of_its_own():
            asyncio.run(asyncio.sleep(3600))
        """
    )
    pytester.runpytest_inprocess("-p", "no:randomly").assert_outcomes(passed=4)


def test_virtual_time_without_looptime_says_what_to_install(pytester: pytest.Pytester) -> None:
    """A test that would wait for an hour in real time fails at once."""
    pytester.makeini(AUTO)
    pytester.makepyfile(
        """
        import asyncio, pytest

        @pytest.mark.virtual_time
        async def test_an_hour():
            await asyncio.sleep(3600)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:looptime_plugin")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*virtual_time needs looptime and pytest-asyncio: pip install 'cmsapi*"])


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("cms_sandbox(40)", "@pytest.mark.cms_sandbox(40) takes only settings by name: seed, keywords, *"),
        ("cms_sandbox(keyword=3)", "@pytest.mark.cms_sandbox(keyword=3): *'keyword'*"),
        ("cms_sandbox(keywords='x')", "@pytest.mark.cms_sandbox(keywords='x'): *"),
        ("cms_client(max_retries=3)", "@pytest.mark.cms_client(max_retries=3): *RetryPolicy(max_attempts=…)*"),
        ("cms_client(api_key='aKey')", "@pytest.mark.cms_client(api_key=…): `api_key`*"),
        ("virtual_time(True)", "@pytest.mark.virtual_time(True): *takes no settings*"),
    ],
)
def test_a_marker_given_wrongly_is_named_with_its_settings(pytester: pytest.Pytester, marker: str, said: str) -> None:
    """The test fails with the marker as it was given, what is wrong, and the settings that it takes."""
    pytester.makeini(AUTO)
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.{marker}
        async def test_marked(cms_client):
            pass
        """
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    (line,) = (line for line in result.outlines if line.startswith("@pytest.mark."))
    assert fnmatch.fnmatchcase(line, said), line
    if not marker.startswith("virtual_time"):
        result.stdout.fnmatch_lines(["*keywords, contents, *" if "sandbox" in marker else "*api_key, base_url, *"])
    assert "aKey" not in line


def test_no_test_uses_up_the_limits_of_another(pytester: pytest.Pytester) -> None:
    """Each test in real time starts with an unused hour, even for the same service and key."""
    pytester.makeini(AUTO)
    pytester.makepyfile(
        """
        import pytest, cmsapi
        from cmsapi.testing import HandlerTransport

        @pytest.mark.parametrize("number", [1, 2])
        async def test_one_request(number):
            transport = HandlerTransport(lambda asked: {})
            async with cmsapi.Client("sk_test", base_url="https://api.example.com", transport=transport) as client:
                await client.request("GET", "/v1/me")
                assert client.rate_limit.remaining == 999
        """
    )
    pytester.runpytest_inprocess("-p", "no:randomly").assert_outcomes(passed=2)


@pytest.mark.slow
def test_an_unused_plugin_loads_nothing(pytester: pytest.Pytester) -> None:
    """Without pytest-asyncio and looptime a run with the plugin passes and has loaded nothing of the package."""
    pytester.makepyfile(
        """
        import sys

        def test_other_things():
            loaded = {name for name in sys.modules if name.startswith("cmsapi")}
            assert loaded == {"cmsapi", "cmsapi._stub", "cmsapi.testing", "cmsapi.testing.plugin"}
            assert not {"aiohttp", "attrs", "cattrs", "anyio.pytest_plugin"} & set(sys.modules)
        """
    )
    absent = [word for name in ("asyncio", "looptime_plugin", "looptime_chronometers", "looptime_timeproxies", "anyio",
              "aiohttp", "hypothesispytest", "schemathesis") for word in ("-p", f"no:{name}")]  # fmt: skip
    pytester.runpytest_subprocess(*absent).assert_outcomes(passed=1)


@pytest.mark.slow
def test_the_package_does_not_load_it() -> None:
    """`import cmsapi` and a client load neither pytest nor the plugin."""
    script = (
        "import sys, cmsapi; cmsapi.Client('sk_1', base_url='https://x.example.com')\n"
        "sys.exit(any(name.startswith(('cmsapi.testing', 'pytest', '_pytest')) for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
