"""Settings: frozen and validated when they are made, so that a wrong value fails before the first request.

Only `Account.resolve` and `log_level` read the environment.
"""

from __future__ import annotations

import hashlib
import importlib
import ipaddress
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import attrs

from cmsapi.errors import ConfigError

API_KEY_VARIABLE = "CMSAPI_API_KEY"
BASE_URL_VARIABLE = "CMSAPI_BASE_URL"
ALLOW_HTTP_VARIABLE = "CMSAPI_ALLOW_HTTP"
LOG_VARIABLE = "CMSAPI_LOG"
LOG_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
LONGEST_API_KEY = 4096
# The limiter keeps eight bytes for each request of an hour.
LARGEST_COUNT = 1_000_000
_PORTS = {"http": 80, "https": 443}
#: What words of the service mean, by the kind of job.
WordMap: TypeAlias = Mapping[str, Mapping[str, str]]
_SEPARATORS = re.compile(r"[\s_-]+")
# Backslashes, quotes and everything outside ASCII mean different hosts to different parsers.
_PLAIN = re.compile(r"[A-Za-z0-9:/?#\[\]@!$&'()*+,;=._~%-]+", re.ASCII)


def _seconds(*, zero: bool = False, endless: bool = False) -> Any:
    """Validate a finite duration in seconds; None may stand for one without end."""

    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if value is None and (endless or attribute.default is None):
            return
        fits = isinstance(value, int | float) and not isinstance(value, bool) and value <= sys.float_info.max
        # The comparisons are written so that NaN fails them.
        if not fits or not (value > 0 or (value == 0 and zero)):  # type: ignore[operator]  # `fits`: it is a number
            low = f"{'at least' if zero else 'more than'} 0{', or None for no end' if endless else ''}"
            raise ConfigError(
                f"{type(instance).__name__}.{attribute.name} must be a finite number of seconds, {low}, got {value!r}."
            )

    return check


def _count(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    optional = attribute.default is None or attribute.name.startswith("per_")
    if value is None and optional:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(
            f"{type(instance).__name__}.{attribute.name} must be a whole number of at least 1, got {value!r}."
        )
    if value > LARGEST_COUNT:
        no_limit = ", or None for no limit" if optional else ""
        raise ConfigError(
            f"{type(instance).__name__}.{attribute.name} must be at most {LARGEST_COUNT:,}{no_limit}, got {value:,}."
        )


def _reserve(instance: RateLimits, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConfigError(
            f"RateLimits.reserve must be a whole number of at least 0, or None for 1 % of per_hour, got {value!r}."
        )
    if instance.per_hour is not None and value >= instance.per_hour:
        raise ConfigError(
            f"RateLimits.reserve must be less than per_hour ({instance.per_hour}), or no job could be polled, "
            f"got {value}."
        )


def _flag(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{type(instance).__name__}.{attribute.name} must be True or False, got {value!r}.")


def _share(instance: RateLimits, attribute: attrs.Attribute[Any], value: object) -> None:
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits or not 0 < value <= 1:  # type: ignore[operator]  # `fits`: it is a number
        raise ConfigError(f"RateLimits.share must be more than 0 and at most 1, got {value!r}.")


def fold(word: str) -> str:
    """Spell a word of the service as it is compared: without case, outer spaces and kinds of separators."""
    return _SEPARATORS.sub("_", word.strip().casefold())


def _folded(words: Any) -> Any:
    """Fold the words of a setting; what cannot be folded is left to the check."""
    if not isinstance(words, Mapping) or not all(isinstance(each, Mapping) for each in words.values()):
        return words
    folded: dict[Any, dict[Any, Any]] = {}
    for kind, meanings in words.items():
        of_kind = folded.setdefault(kind, {})
        for word, meaning in meanings.items():
            form = fold(word) if isinstance(word, str) else word
            if of_kind.setdefault(form, meaning) != meaning:
                raise ConfigError(f"PollPolicy.words[{kind!r}] must give {form!r} one meaning, got two.")
    return folded


def _words(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, Mapping):
        raise ConfigError(
            "PollPolicy.words must map kinds of jobs to words and what they mean, such as "
            f"{{'generation': {{'ready': 'review'}}}}, got {value!r}."
        )
    # By its name and when it is needed: the kinds of jobs are built on settings, and load most of the package.
    kinds = importlib.import_module("cmsapi.jobs.kinds.registry").KINDS if value else {}
    for kind, meanings in value.items():
        if kind not in kinds:
            known = ", ".join(repr(str(each)) for each in kinds)
            raise ConfigError(f"PollPolicy.words must name kinds of jobs ({known}), got {kind!r}.")
        where = f"PollPolicy.words[{kind!r}]"
        if not isinstance(meanings, Mapping):
            raise ConfigError(f"{where} must map words to what they mean, got {meanings!r}.")
        possible = ("running", *(("review",) if kinds[kind].in_review else ()), "succeeded", "failed")
        for word, meaning in meanings.items():
            if not isinstance(word, str) or not word:
                raise ConfigError(f"{where} must have words of the service as keys, got {word!r}.")
            if meaning not in possible:
                words = ", ".join(repr(each) for each in possible)
                raise ConfigError(f"{where}[{word!r}] must be one of {words}, got {meaning!r}.")


def _word(*allowed: str, function: bool = False) -> Any:
    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if value not in allowed and not (function and callable(value)):
            words = ", ".join(repr(word) for word in allowed)
            raise ConfigError(f"{type(instance).__name__}.{attribute.name} must be one of {words}, got {value!r}.")

    return check


@attrs.frozen(kw_only=True)
class RateLimits:
    """Set how many requests the key may make (specification 8).

    Args:
        per_second: Requests in any one second; None for no limit.
        per_hour: Requests in any rolling hour; None for no limit. A lower `X-RateLimit-Limit` of the service wins.
        reserve: Requests of the hour that polls leave to other calls, at least 0 and less than `per_hour`. None means
            1 % of `per_hour`. It shrinks in proportion when the service allows less.
        max_wait: Longest wait for a permit in seconds. A call that would wait longer fails at once with
            `RateLimitWaitError`. None waits for as long as it takes.
        share: Part of `per_second` that each process uses while it cannot reach the shared state: more than 0, at
            most 1, and at least one request. Meanwhile only the service's answers tell what is left of the hour.
    """

    per_second: int | None = attrs.field(default=20, validator=_count)
    per_hour: int | None = attrs.field(default=1000, validator=_count)
    reserve: int | None = attrs.field(default=None, validator=_reserve)
    max_wait: float | None = attrs.field(default=None, validator=_seconds(zero=True))
    share: float = attrs.field(default=0.25, validator=_share)

    @classmethod
    def unlimited(cls) -> RateLimits:
        """Make settings that never hold a request back; for a service without limits."""
        return cls(per_second=None, per_hour=None)


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """Set how often and how patiently a request is repeated (specification 7, retry rule 1).

    Several 429s in a row, without another answer between them, pause all calls of the key for longer and longer, up to
    six minutes, and one request at a time tries.

    Args:
        max_attempts: Requests that one call may spend in all.
        base: Upper bound of the first backoff in seconds; it doubles with each attempt. The wait is drawn evenly
            between 0 and the bound; after a 429 it comes on top of `Retry-After`.
        cap: Largest bound in seconds.
        max_retry_after: Longest `Retry-After` that is waited for, in seconds. The answer that asks for more raises its
            error at once, and for the next hour calls raise `RateLimitWaitError`; both say when to try again. None
            means an hour, the longest window of the service's limits: after it, other calls of the key try again.
        repeat_in_doubt: Whether to repeat also a request that creates something when the service fails or no answer
            comes (`client.with_options(retry=RetryPolicy(repeat_in_doubt=True))`). The first request may have taken
            effect, so each repeat can create the same once more. It does not concern launches that cost credits, whose
            setting is `LaunchPolicy(on_unknown=)`, decisions on reviews, and `client.request`, which takes `retry=`.
    """

    max_attempts: int = attrs.field(default=5, validator=_count)
    base: float = attrs.field(default=0.5, validator=_seconds())
    cap: float = attrs.field(default=30.0, validator=_seconds())
    max_retry_after: float | None = attrs.field(default=None, validator=_seconds(zero=True))
    repeat_in_doubt: bool = attrs.field(default=False, validator=_flag)


@attrs.frozen(kw_only=True, cache_hash=True)
class PollPolicy:
    """Set how often a job with waiters is polled (specification 8, rule 5).

    Args:
        min_interval: Shortest time between two polls of one job, in seconds.
        max_interval: Longest time between two polls of one job, in seconds, while the request limit allows it. Where
            one request for a list shows many jobs, the list is read when that is worth a request instead: before one
            of these jobs is expected to have been over for one and a half times as long.
        budget: What changes when that many polls do not fit into the hour. `"fit"` polls less often, at the times
            that are most likely to be worth a request. `"strict"` keeps the intervals, also for lists, and `jobs.map`
            launches fewer jobs at a time.
        give_up_after: Seconds for which the service may show nothing that tells how a job stands before the job ends
            with `UnknownJobStateError`: a word that is not listed, the end of an earlier run, refused polls, a result
            that is refused or not all there. None means the time that the table of waits has for each of them. Fewer
            seconds than the table has also bound how long an end in doubt has to last.
        outage_timeout: Seconds for which the service may fail or be out of reach before the jobs that are polled end
            with `UnknownJobStateError`.
        job_timeout: Seconds from its launch after which a job is waited for no more, where `timeout=` says nothing
            else: the wait raises `JobWaitTimeoutError`, and the job goes on at the service. A decision of `on_review`
            that is under way is not cut. None means no end.
        words: What words of the service mean that this package does not list, by kind of job: `"running"`, `"review"`
            (only of a generation), `"succeeded"` or `"failed"`. For example, `{"generation": {"ready": "review"}}`.
            They are compared without case, outer spaces and kinds of separators, and win over the words that this
            package lists. Of a generation, `"succeeded"` means that its article was applied.
    """

    min_interval: float = attrs.field(default=5.0, validator=_seconds())
    max_interval: float = attrs.field(default=10.0, validator=_seconds())
    budget: Literal["fit", "strict"] = attrs.field(default="fit", validator=_word("fit", "strict"))
    give_up_after: float | None = attrs.field(default=None, validator=_seconds())
    outage_timeout: float = attrs.field(default=3600.0, validator=_seconds())
    job_timeout: float | None = attrs.field(default=86_400.0, validator=_seconds(endless=True))
    # Mappings have no hash; policies that differ in them alone are still not equal.
    words: WordMap = attrs.field(factory=dict, converter=_folded, validator=_words, hash=False)

    def __attrs_post_init__(self) -> None:
        if self.max_interval < self.min_interval:
            raise ConfigError(
                f"PollPolicy.max_interval must be at least min_interval ({self.min_interval}), got {self.max_interval}."
            )


@attrs.frozen(kw_only=True)
class LaunchPolicy:
    """Set what a launch does when the same work is under way, and when its outcome stays unknown.

    Args:
        dedupe: `"join"` returns the running job of the same kind and target instead of paying again, `"error"`
            refuses, `"allow"` launches regardless. Two searches for one keyword are separate requests and are never
            merged, except within an item of a named batch.
        settle: Seconds after a launch was sent in which it may still take effect. Only after that time is a lost
            launch reconciled. None assumes that the service carries a request out within 60 s or never, and waits
            for 60 s after the answer was lost, whatever `Timeouts.request` is.
        on_unknown: What to do when the outcome of a launch stays unknown. `"raise"` raises `LaunchUnknownError`.
            `"repeat"` launches again, which may be paid twice, up to `RetryPolicy.max_attempts` times and as long as
            `max_credits` allows. A function, sync or async, takes the error and returns one of the two.
        baseline: What to read before a launch, so that a lost answer can be reconciled. `"read"` reads the generation
            of a content before another one is launched, and the balances before the first launch and again after 100
            launches or 10 minutes; one request each. `"none"` reads neither: a launch that the service does not show
            stays unknown, unless another call has read the balances.
        max_credits: Launches, of one credit each, that this client and its `with_options` copies may send in all. The
            next launch is refused with `OutOfCreditsError`. A repeat in doubt counts once more; launches that certainly
            cost nothing do not count. None allows any number.
    """

    dedupe: Literal["join", "error", "allow"] = attrs.field(default="join", validator=_word("join", "error", "allow"))
    settle: float | None = attrs.field(default=None, validator=_seconds(zero=True))
    on_unknown: Literal["raise", "repeat"] | Callable[[Any], Any] = attrs.field(
        default="raise", validator=_word("raise", "repeat", function=True)
    )
    baseline: Literal["read", "none"] = attrs.field(default="read", validator=_word("read", "none"))
    max_credits: int | None = attrs.field(default=None, validator=_count)


@attrs.frozen(kw_only=True)
class Timeouts:
    """Set how long to wait, in seconds.

    Args:
        request: One attempt, from its permit to the last byte of the answer.
        connect: Resolving the host, connecting and TLS; part of `request`.
        deadline: The whole call, with limits, attempts and decoding; None sets no deadline. A launch that was sent by
            then raises `LaunchUnknownError`. It is not sent again, and it stays in the journal until the client has
            found out what became of it; the next launch of the same joins it.
    """

    request: float = attrs.field(default=30.0, validator=_seconds())
    connect: float = attrs.field(default=10.0, validator=_seconds())
    deadline: float | None = attrs.field(default=None, validator=_seconds())


@attrs.frozen
class Account:
    """Hold an API key and the base URL that it belongs to; its representation never shows the key."""

    api_key: str = attrs.field(repr=lambda _: "'sk_***'")
    base_url: str

    @classmethod
    def resolve(cls, api_key: str | None, base_url: str | None, *, allow_http: bool = False) -> Account:
        """Take the given key and URL, or those of the environment, and check them.

        Raises:
            ConfigError: A key or URL is missing or malformed, or the key would travel over plain HTTP.
        """
        key = os.environ.get(API_KEY_VARIABLE) if api_key is None else api_key
        url = os.environ.get(BASE_URL_VARIABLE) if base_url is None else base_url
        return cls(
            _checked_key(key, API_KEY_VARIABLE if api_key is None else "`api_key`"),
            _checked_url(
                url,
                BASE_URL_VARIABLE if base_url is None else "`base_url`",
                allow_http or _is_set(ALLOW_HTTP_VARIABLE),
            ),
        )

    @property
    def digest(self) -> str:
        """A digest that names the account and does not reveal its key."""
        return hashlib.blake2b(f"{self.base_url}\n{self.api_key}".encode(), digest_size=16).hexdigest()


def _checked_key(key: str | None, name: str) -> str:
    if key is None or key == "":
        raise ConfigError(f"No API key: pass Client('sk_…') or set {API_KEY_VARIABLE}.")
    if not isinstance(key, str) or not key.startswith("sk_") or key == "sk_":
        hint = ""
        if isinstance(key, str) and key.startswith(("http://", "https://")):
            hint = " It is an address: pass it as `base_url`."
        elif isinstance(key, str) and key.lower().startswith("bearer "):
            hint = " Leave 'Bearer' out: the client adds it."
        raise ConfigError(f"{name}, the API key, must begin with 'sk_' and go on; this one does not.{hint}")
    if not key.isascii() or not key.isprintable() or " " in key or len(key) > LONGEST_API_KEY:
        raise ConfigError(
            f"{name}, the API key, must be at most 4,096 printable ASCII characters without white space; check how it "
            "was copied."
        )
    return key


def _checked_url(url: str | None, name: str, allow_http: bool) -> str:
    if url is None or url == "":
        raise ConfigError(f"No base URL: pass Client(…, base_url='https://…') or set {BASE_URL_VARIABLE}.")
    if not isinstance(url, str):
        raise ConfigError(f"{name} must be a string, not {type(url).__name__}.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"{name} cannot be read: {error}") from None
    if parts.scheme not in ("http", "https") or not host or not _PLAIN.fullmatch(url):
        raise ConfigError(
            f"{name} must be an absolute http(s) address in ASCII, for example 'https://api.example.com', got "
            f"{_given(url)}."
        )
    if parts.username is not None or "?" in url or "#" in url:
        raise ConfigError(f"{name} must have no user, query or fragment.")
    if any(segment in (".", "..") for segment in parts.path.split("/")):
        raise ConfigError(f"The path of {name} must have no dot segments, got {_given(url)}.")
    if parts.path.rstrip("/").endswith("/v1"):
        root = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')[: -len('/v1')]}"
        raise ConfigError(
            f"{name} must end before /v1, because each path of the interface begins with it: use {root!r}."
        )
    if parts.scheme == "http" and not (allow_http or _is_loopback(host)):
        here = f" A service on this machine is at http://{_at('127.0.0.1', port)}." if _is_everywhere(host) else ""
        raise ConfigError(
            f"With http://{_at(host, port)} the key would travel unencrypted: use https://, or allow it by name with "
            f"Client(…, allow_http=True) or {ALLOW_HTTP_VARIABLE}=1.{here} Nothing was sent."
        )
    # One spelling for one service, because limits are kept by key and base URL.
    place = _at(host, None if port == _PORTS[parts.scheme] else port)
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}"


def log_level() -> int | None:
    """Return the level from which `CMSAPI_LOG` wants the log on standard error, or None if it is not set.

    Raises:
        ConfigError: It is set to another word.
    """
    word = _word_of(LOG_VARIABLE)
    if word and word not in LOG_LEVELS:
        raise ConfigError(
            f"{LOG_VARIABLE} must be one of {', '.join(LOG_LEVELS)}, got {_shown(word)}. Nothing was sent."
        )
    return LOG_LEVELS.get(word)


def _is_set(variable: str) -> bool:
    word = _word_of(variable)
    if word not in ("", "0", "false", "no", "off", "1", "true", "yes", "on"):
        raise ConfigError(f"{variable} must be 1 or 0, got {_shown(word)}. Nothing was sent.")
    return word in ("1", "true", "yes", "on")


def _word_of(variable: str) -> str:
    return os.environ.get(variable, "").strip().lower()


def _shown(word: str) -> str:
    """Quote a wrong word; a key that was written into the wrong variable is masked."""
    return "a key" if word.startswith("sk_") else repr(word[:20])


def _given(url: str) -> str:
    """Quote a wrong address; what may be a key or a password is not shown."""
    if url.startswith("sk_"):
        return "a key"
    return "one with a user" if "@" in url else repr(url[:80])


def _at(host: str, port: int | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return name if port is None else f"{name}:{port}"


def _is_everywhere(host: str) -> bool:
    """Tell whether a host stands for all addresses of a machine: servers listen there, clients cannot connect to it."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
