"""The fixtures, in pytest runs of their own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

QUICK = ("-p", "no:randomly", "-p", "no:schemathesis", "-p", "no:valkey", "-W", "error")
LOOPS = "[pytest]\nasyncio_default_fixture_loop_scope = function\nasyncio_mode = "


def ini(mode: str) -> str:
    """Return a pytest-asyncio configuration."""
    return LOOPS + mode


@pytest.mark.parametrize("mode", ["strict", "auto"])
@pytest.mark.parametrize("scope", ["function", "class", "module", "session"])
def test_the_client_works_in_each_scope_of_loop(pytester: pytest.Pytester, scope: str, mode: str) -> None:
    """Tests that share a loop have their own sandboxes and clients, which are closed even while jobs are running."""
    pytester.makeini(ini(mode))
    pytester.makepyfile(
        f"""
        import asyncio, pytest, cmsapi
        earlier = []

        @pytest.mark.asyncio(loop_scope={scope!r})
        class TestClient:
            @pytest.mark.parametrize("number", [1, 2])
            async def test_launch(self, cms_client, cms_sandbox, number):
                earlier.append(cms_client)
                fan_out = cms_client.jobs.map(cms_client.keywords.analyze, cms_sandbox.keyword_ids)
                asyncio.create_task(anext(fan_out))
                await cms_client.keywords.analyze(cms_sandbox.keyword_ids[0])
                assert cms_sandbox.ledger.launches_of(cms_sandbox.keyword_ids[0])[0].number == 1
                assert cms_client.rate_limit.used < 21

            async def test_an_earlier_client_is_closed(self):
                if {scope!r} != "function":  # else it has ended with its loop
                    with pytest.raises(cmsapi.ClientClosedError):
                        await earlier[0].me()
        """
    )
    pytester.runpytest_inprocess(*QUICK).assert_outcomes(passed=3)


def test_a_conftest_configures_the_sandbox(pytester: pytest.Pytester) -> None:
    """A fixture of the same name takes the place of the plugin's, and virtual time works with both."""
    pytester.makeini(ini("auto"))
    pytester.makeconftest(
        """
        import pytest
        from cmsapi.sandbox import Fixed, Sandbox

        @pytest.fixture
        def cms_sandbox():
            return Sandbox(keywords=3, durations=Fixed(1800))
        """
    )
    pytester.makepyfile(
        """
        import asyncio, pytest

        @pytest.mark.looptime
        async def test_half_an_hour(cms_client, cms_sandbox):
            assert len(cms_sandbox.keyword_ids) == 3
            await (await cms_client.keywords.analyze(cms_sandbox.keyword_ids[0]))
            assert 1800 <= asyncio.get_running_loop().time() < 1900
        """
    )
    pytester.runpytest_inprocess(*QUICK).assert_outcomes(passed=1)


def test_a_plain_function_may_use_both(pytester: pytest.Pytester) -> None:
    """A test of synchronous code passes the client to code that calls ``asyncio.run``, once or several times."""
    pytester.makeini(ini("strict"))
    pytester.makepyfile(
        """
        import asyncio

        def test_synchronous_code(cms_client, cms_sandbox):
            async def main():
                async with cms_client:
                    return await cms_client.keywords.get(cms_sandbox.keyword_ids[0])

            assert asyncio.run(main()).id == cms_sandbox.keyword_ids[0]

        def test_several_loops(cms_client):
            assert asyncio.run(cms_client.me()).id == asyncio.run(cms_client.me()).id

        def test_unused(cms_client):
            pass
        """
    )
    pytester.runpytest_inprocess(*QUICK).assert_outcomes(passed=3)


def test_the_environment_does_not_reach_the_client(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings for a real account on the machine neither lead tests there nor store their launches."""
    monkeypatch.setenv("CMSAPI_STATE", f"sqlite:///{pytester.path}/launches.db")
    monkeypatch.setenv("CMSAPI_BASE_URL", "https://api.example.com")
    monkeypatch.setenv("CMSAPI_API_KEY", "sk_real")
    pytester.makeini(ini("auto"))
    pytester.makepyfile(
        """
        async def test_launch(cms_client, cms_sandbox):
            await cms_client.keywords.analyze(cms_sandbox.keyword_ids[0])
            assert cms_sandbox.ledger.count("analyze_keyword") == 1
        """
    )
    pytester.runpytest_inprocess(*QUICK).assert_outcomes(passed=1)
    assert not (pytester.path / "launches.db").exists()


def test_the_loop_may_run_in_another_thread(pytester: pytest.Pytester) -> None:
    """A loop that outlives the test in a thread, like that of a web framework's test client, closes the client."""
    pytester.makeini(ini("strict"))
    pytester.makepyfile(
        """
        import pytest, cmsapi
        from anyio.from_thread import start_blocking_portal
        earlier = []

        @pytest.fixture(scope="module")
        def portal():
            with start_blocking_portal() as portal:
                yield portal

        def test_use(portal, cms_client, cms_sandbox):
            earlier.append(cms_client)
            portal.call(cms_client.keywords.analyze, cms_sandbox.keyword_ids[0])

        def test_an_earlier_client_is_closed(portal):
            with pytest.raises(cmsapi.ClientClosedError):
                portal.call(earlier[0].me)
        """
    )
    pytester.runpytest_inprocess(*QUICK).assert_outcomes(passed=2)


@pytest.mark.slow
def test_without_other_plugins_nothing_is_loaded_or_warned_of(pytester: pytest.Pytester) -> None:
    """A project that has cmsapi installed does not notice the plugin, and anyio's plugin suffices for the client."""
    pytester.makepyfile(
        test_a="""
        import sys

        def test_other_things():
            assert "cmsapi.testing.plugin" in sys.modules
            assert not {"aiohttp", "cmsapi.sandbox", "jsonschema", "pytest_asyncio"} & set(sys.modules)
        """,
        test_b="""
        import pytest

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.anyio
        async def test_me(cms_client):
            assert (await cms_client.me()).id
        """,
    )
    absent = ["asyncio", "looptime_plugin", "looptime_chronometers", "looptime_timeproxies", "hypothesispytest"]
    without = [word for name in absent for word in ("-p", f"no:{name}")]
    pytester.runpytest_subprocess(*QUICK, *without, "--strict-markers").assert_outcomes(passed=2)
