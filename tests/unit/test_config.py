"""Settings: whatever is wrong is refused when they are made, before the first request."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, strategies as st

import cmsapi
from cmsapi import errors
from cmsapi.config import Account

KEY = "sk_live_abcdefghijklmnop"
URL = "https://api.example.com"
NO_SECONDS: list[Any] = [-1, -0.001, float("nan"), float("inf"), -float("inf"), "5", True, None, [], 10**400, 1j]
NO_COUNTS: list[Any] = [0, -1, 1.0, 2.5, "5", True, [], float("nan"), 10**7]

SECONDS: list[tuple[Any, str]] = [
    (cmsapi.RetryPolicy, "base"),
    (cmsapi.RetryPolicy, "cap"),
    (cmsapi.PollPolicy, "min_interval"),
    (cmsapi.PollPolicy, "max_interval"),
    (cmsapi.Timeouts, "request"),
    (cmsapi.Timeouts, "connect"),
]
OPTIONAL_SECONDS: list[tuple[Any, str]] = [
    (cmsapi.RateLimits, "max_wait"),
    (cmsapi.PollPolicy, "give_up_after"),
    (cmsapi.Timeouts, "deadline"),
]
COUNTS: list[tuple[Any, str]] = [
    (cmsapi.RateLimits, "per_second"),
    (cmsapi.RateLimits, "per_hour"),
    (cmsapi.RetryPolicy, "max_attempts"),
]


@pytest.mark.parametrize("value", [*NO_SECONDS, 0], ids=repr)
@pytest.mark.parametrize(("cls", "name"), [*SECONDS, *OPTIONAL_SECONDS])
def test_durations_are_checked(cls: Any, name: str, value: Any) -> None:
    """A duration is a finite positive number; None and 0 only where they mean something."""
    optional = (cls, name) in OPTIONAL_SECONDS
    if (value is None and optional) or (value == 0 and value is not False and name == "max_wait"):
        assert getattr(cls(**{name: value}), name) == value
        return
    with pytest.raises(errors.ConfigError, match=f"{cls.__name__}.{name}"):
        cls(**{name: value})


@pytest.mark.parametrize("value", [*NO_COUNTS, None], ids=repr)
@pytest.mark.parametrize(("cls", "name"), COUNTS)
def test_counts_are_checked(cls: Any, name: str, value: Any) -> None:
    """A count is a whole number from 1 on; None means no limit, and only a limit may be None."""
    if value is None and name.startswith("per_"):
        assert getattr(cls(**{name: None}), name) is None
        return
    with pytest.raises(errors.ConfigError, match=f"{cls.__name__}.{name}"):
        cls(**{name: value})


def test_settings_fit_together() -> None:
    """Intervals are ordered, words are known, and nothing can be changed afterwards."""
    with pytest.raises(errors.ConfigError, match="max_interval"):
        cmsapi.PollPolicy(min_interval=5, max_interval=4)
    with pytest.raises(errors.ConfigError, match="'join', 'error', 'allow'"):
        cmsapi.LaunchPolicy(dedupe="maybe")  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        cmsapi.Timeouts().request = 5  # type: ignore[misc]
    unlimited = cmsapi.RateLimits.unlimited()
    assert (unlimited.per_second, unlimited.per_hour, unlimited.max_wait) == (None, None, None)


@pytest.mark.parametrize("value", [-1, 1.0, "5", True, 1000, 10**9], ids=repr)
def test_the_reserve_leaves_something_to_poll_with(value: Any) -> None:
    """A reserve is a whole number below the hour's limit; without a limit any is kept."""
    with pytest.raises(errors.ConfigError, match=r"RateLimits\.reserve"):
        cmsapi.RateLimits(reserve=value)
    kept = [cmsapi.RateLimits(reserve=0), cmsapi.RateLimits(reserve=999), cmsapi.RateLimits(per_hour=None, reserve=5)]
    assert [limits.reserve for limits in kept] == [0, 999, 5]


def test_the_defaults_are_the_specifications() -> None:
    """Without settings the limits of specification 8 hold."""
    limits = cmsapi.RateLimits()
    assert (limits.per_second, limits.per_hour) == (20, 1000)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "sk_",
        "pk_live_1",
        "SK_live_1",
        " sk_live_1",
        "sk_live_1 ",
        "sk_live_1\n",
        "sk_live 1",
        "sk_live\t1",
        "sk_live_1\r\nX-Evil: 1",
        "sk_lïve",
        "sk_\x00",
        "sk_\u200b1",
        "sk_" + "x" * 5000,
        "Bearer sk_live_1",
        b"sk_live_1",
        7,
        [],
    ],
    ids=lambda key: repr(key)[:20],
)
def test_keys_of_another_form_are_refused(key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key begins with `sk_` and is printable ASCII without spaces; the error does not repeat it."""
    monkeypatch.delenv("CMSAPI_API_KEY", raising=False)
    with pytest.raises(errors.ConfigError) as caught:
        cmsapi.Client(key, base_url=URL)
    if isinstance(key, str) and len(key) > 3:
        assert key.strip() not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("", "No base URL"),
        ("api.example.com", "`base_url` must be an absolute .*, got 'api.example.com'"),
        ("//api.example.com", "absolute"),
        ("ftp://api.example.com", "absolute"),
        ("https://", "absolute"),
        ("https:///v1", "absolute"),
        ("https://api.example.com/v1", "before /v1.* use 'https://api.example.com'"),
        ("https://api.example.com:8443/cms/v1/", "before /v1.* use 'https://api.example.com:8443/cms'"),
        ("https://api.example.com:99999", "cannot be read"),
        ("https://api.example.com:x", "cannot be read"),
        ("https://[::1", "cannot be read"),
        ("https://api.exa mple.com", "absolute"),
        ("https://api.example.com\n", "absolute"),
        ("https://api.example.com/\x00", "absolute"),
        ("https://exämple.com", "ASCII"),
        ("https://evil.com\\.example.com", "absolute"),
        ("https://api.example.com\\@evil.com", "absolute"),
        ("https://user@api.example.com", "no user"),
        ("https://user:pw@api.example.com", "no user"),
        ("https://api.example.com?x=1", "no user, query"),
        ("https://api.example.com?", "no user, query"),
        ("https://api.example.com#x", "no user, query"),
        ("https://api.example.com/../x", "dot segments"),
        ("http://api.example.com", "unencrypted"),
        ("http://localhost.example.com", "unencrypted"),
        ("http://10.0.0.1", "unencrypted"),
        ("http://0.0.0.0:8031", "http://0.0.0.0:8031 .* unencrypted.* is at http://127.0.0.1:8031. Nothing was sent."),
        ("http://[::]:8031", "is at http://127.0.0.1:8031."),
        (b"https://api.example.com", "must be a string"),
        (7, "must be a string"),
    ],
)
def test_base_urls_of_another_form_are_refused(url: Any, match: str) -> None:
    """A base URL is an absolute https address without anything that would send the key elsewhere."""
    with pytest.raises(errors.ConfigError, match=match):
        cmsapi.Client(KEY, base_url=url)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://api.example.com", URL),
        ("https://api.example.com/", URL),
        ("HTTPS://API.Example.com:443//", URL),
        ("https://api.example.com:8443/cms/", "https://api.example.com:8443/cms"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("http://127.8.9.1:8000", "http://127.8.9.1:8000"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
    ],
)
def test_one_service_has_one_spelling(url: str, kept: str) -> None:
    """Spellings of one address are one account, so that they share limits; http is for this machine."""
    assert Account.resolve(KEY, url).base_url == kept
    assert Account.resolve(KEY, url).digest == Account.resolve(KEY, kept).digest


def test_http_elsewhere_has_to_be_asked_for() -> None:
    """`allow_http` lets the key travel unencrypted, by name."""
    client = cmsapi.Client(KEY, base_url="http://cms.internal", allow_http=True)
    assert "http://cms.internal" in repr(client)


def test_the_environment_is_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given comes first, then the environment; nothing at all is an error that names the variable."""
    for name in ("CMSAPI_API_KEY", "CMSAPI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(errors.ConfigError, match="CMSAPI_API_KEY"):
        cmsapi.Client()
    monkeypatch.setenv("CMSAPI_API_KEY", KEY)
    with pytest.raises(errors.ConfigError, match="CMSAPI_BASE_URL"):
        cmsapi.Client()
    monkeypatch.setenv("CMSAPI_BASE_URL", "htp:/env.example.com")
    with pytest.raises(errors.ConfigError, match=r"^CMSAPI_BASE_URL must be .*, got 'htp:/env.example.com'"):
        cmsapi.Client()
    monkeypatch.setenv("CMSAPI_API_KEY", "key")
    with pytest.raises(errors.ConfigError, match=r"^CMSAPI_API_KEY, the API key, must begin"):
        cmsapi.Client()
    monkeypatch.setenv("CMSAPI_API_KEY", KEY)
    monkeypatch.setenv("CMSAPI_BASE_URL", "https://env.example.com/")
    assert "https://env.example.com" in repr(cmsapi.Client())
    account = Account.resolve("sk_given", "https://given.example.com")
    assert (account.api_key, account.base_url) == ("sk_given", "https://given.example.com")
    monkeypatch.setenv("CMSAPI_API_KEY", f"{KEY}\n")
    with pytest.raises(errors.ConfigError, match="check how it was copied"):
        cmsapi.Client()


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40))
def test_nothing_shows_the_key(secret: str) -> None:
    """Neither an account nor a client, a request or their errors show the key; nor does its digest."""
    key = f"sk_{secret}"
    account = Account.resolve(key, URL)
    client = cmsapi.Client(key, base_url=URL)
    request = cmsapi.Request("GET", URL, {"Authorization": f"Bearer {key}"})
    for shown in (account, client, request, request.headers, account.digest, client.statistics, *map(str, (account,))):
        assert key not in repr(shown)


def test_accounts_differ_by_key_and_by_service() -> None:
    """The digest tells accounts apart."""
    digests = {Account.resolve(f"sk_{key}", f"https://{host}").digest for key, host in itertools.product("ab", "ab")}
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"limits": 5}, r"`limits` must be cmsapi\.RateLimits\(…\), got int"),
        ({"retry": cmsapi.Timeouts()}, "`retry` must be"),
        ({"timeouts": 30}, "`timeouts` must be"),
        ({"operations": {}}, "`operations` must be OPERATIONS"),
        ({"transport": object()}, "`transport` must have"),
        ({"hooks": [7]}, "`hooks` must be a list"),
        ({"hooks": print}, "`hooks` must be a list"),
        ({"ssl": False}, "`ssl` must be an ssl.SSLContext, got bool"),
        ({"proxy": "proxy.example.com"}, "`proxy` must be a URL"),
        ({"proxy": 7}, "`proxy` must be a URL"),
        ({"largest_answer": 0}, "`largest_answer` must be a whole number"),
        ({"largest_answer": True}, "`largest_answer` must be a whole number"),
        ({"session": object()}, "`session` must be an aiohttp"),
        ({"trust_env": "no"}, "`trust_env` must be True or False, got 'no'"),
        ({"allow_http": "false"}, "`allow_http` must be True or False"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_wrong_options_are_refused(options: dict[str, Any], match: str) -> None:
    """An option of a wrong type is named at construction."""
    with pytest.raises(errors.ConfigError, match=match):
        cmsapi.Client(KEY, base_url=URL, **options)


async def send(_: cmsapi.Request) -> cmsapi.Response:
    """Answer nothing."""
    raise NotImplementedError


@pytest.mark.parametrize(
    "option",
    [{"session": object()}, {"proxy": "http://p"}, {"ssl": object()}, {"trust_env": True}, {"largest_answer": 1}],
)
def test_options_of_the_own_transport_do_not_go_with_another(option: dict[str, Any]) -> None:
    """What a given transport would ignore is refused instead."""

    class Transport:
        """Be a transport."""

    transport = Transport()
    transport.send = send  # type: ignore[attr-defined]
    with pytest.raises(errors.ConfigError, match="`transport` cannot be combined"):
        cmsapi.Client(KEY, base_url=URL, transport=transport, **option)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -0.1, 1.01, float("nan"), "half", True, None])
def test_a_share_is_a_part(value: Any) -> None:
    """The share of a process is more than nothing and at most all."""
    with pytest.raises(errors.ConfigError, match=r"RateLimits\.share"):
        cmsapi.RateLimits(share=value)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "10"])
def test_a_fuse_admits_something(value: Any) -> None:
    """A fuse that no launch passes is a mistake."""
    with pytest.raises(errors.ConfigError, match=r"LaunchPolicy\.max_credits"):
        cmsapi.LaunchPolicy(max_credits=value)


@pytest.mark.parametrize(
    ("word", "allowed"), [("1", True), ("true", True), (" YES ", True), ("", False), ("0", False), ("off", False)]
)
def test_http_elsewhere_may_be_allowed_by_the_environment(
    word: str, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`CMSAPI_ALLOW_HTTP` stands for `allow_http`; the message of a refusal names it."""
    monkeypatch.setenv("CMSAPI_ALLOW_HTTP", word)
    if allowed:
        assert "http://cms.internal" in repr(cmsapi.Client(KEY, base_url="http://cms.internal"))
    else:
        with pytest.raises(errors.ConfigError, match="CMSAPI_ALLOW_HTTP=1"):
            cmsapi.Client(KEY, base_url="http://cms.internal")


def test_a_word_that_means_neither_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slip does not decide whether a key travels unencrypted."""
    monkeypatch.setenv("CMSAPI_ALLOW_HTTP", "perhaps")
    with pytest.raises(errors.ConfigError, match="CMSAPI_ALLOW_HTTP must be 1 or 0"):
        cmsapi.Client(KEY, base_url=URL)
