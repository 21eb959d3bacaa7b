"""Settings of a client. They are checked on creation, so mistakes are reported before anything is sent."""

from __future__ import annotations

import ssl as ssl_module
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from attrs import Attribute, field, frozen
from attrs.validators import optional

from cmsapi.errors import ConfigError

if TYPE_CHECKING:
    from aiohttp import ClientSession as ClientSession
else:
    ClientSession = Any  # importing aiohttp takes long


HOUR = 3600.0
"""Length of the hourly window in seconds (specification 8)."""
SECOND = 1.0
"""Length of the burst window in seconds (specification 8)."""
MARGIN = 5.0
"""Safety margin in seconds: this long after its time limit, a request is certainly no longer under way."""


def _seconds(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else value


def _number(expected: str, least: float, *, above: bool = False, whole: bool = False) -> Callable[..., None]:
    """Return a validator that raises a `ConfigError`, naming the setting, unless the value is a number in the range."""

    def check(instance: Any, attribute: Attribute[Any], value: Any) -> None:
        number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not number or not (value > least if above else value >= least):  # written so that NaN is refused
            raise ConfigError(f"{type(instance).__name__}({attribute.name}=) must be {expected}, got {value!r}")

    return check


_positive = _number("a number above 0, or a timedelta", 0, above=True)
_optional_positive = optional(_positive)
_optional_wait = optional(_number("a number of seconds, a timedelta or None", 0))
_count = _number("a whole number from 1 on", 1, whole=True)
_optional_count = optional(_number("a whole number from 0 on, or None", 0, whole=True))


@frozen
class RateLimits:
    """Rate limits of the API key. The client delays requests to stay within them (specification 8).

    Attributes:
        per_second: Maximum number of requests in any second.
        per_hour: Maximum number of requests in any hour.
        reserve: Requests per hour that are never used for polling jobs; None for 1 % of ``per_hour``.
        max_wait: Maximum seconds that a request waits for the limits; None for no maximum. A request that would wait
            longer raises `RateLimitWaitError`. Polls have no maximum.
    """

    per_second: int = field(default=20, validator=_count)
    per_hour: int = field(default=1000, validator=_count)
    reserve: int | None = field(default=None, validator=_optional_count)
    max_wait: float | None = field(default=None, converter=_seconds, validator=_optional_wait)

    @classmethod
    def unlimited(cls) -> RateLimits:
        """Return limits that are too high to be reached, for a service without limits."""
        return cls(per_second=10**9, per_hour=10**9, reserve=0)


@frozen
class RetryPolicy:
    """How often a failed request is repeated, and how long the client waits each time (specification 7).

    The wait before attempt n + 1 is random: 50 to 100 % of ``min(cap, base * 2 ** (n - 1))`` seconds. A ``Retry-After``
    from the service is added to it.

    Attributes:
        max_attempts: Maximum number of attempts per call; 1 for no retries.
        base: Maximum seconds of the first wait, not counting ``Retry-After``.
        cap: Maximum seconds of any wait, not counting ``Retry-After``.
        max_retry_after: Maximum ``Retry-After`` in seconds; after a longer one, there is no retry. None for no maximum.
    """

    max_attempts: int = field(default=5, validator=_count)
    base: float = field(default=0.5, converter=_seconds, validator=_positive)
    cap: float = field(default=30.0, converter=_seconds, validator=_positive)
    max_retry_after: float | None = field(default=None, converter=_seconds, validator=_optional_wait)


@frozen
class PollPolicy:
    """How often jobs are polled, and when a wait for a job is given up (specification 8, rule 5).

    Attributes:
        min_interval: Minimum seconds between two polls of a job.
        max_interval: Maximum seconds between two polls of a job; more if the hourly limit requires it.
        job_timeout: Maximum seconds of any wait for a job.
        unclear_timeout: Seconds for which responses about a job may be unclear before waits raise `UnclearJobError`.
        outage_timeout: Seconds for which polls may fail before waits for jobs raise the last error.
        words: Further status words, each with its meaning: ``running``, ``review``, ``succeeded`` or ``failed``.
    """

    min_interval: float = field(default=5.0, converter=_seconds, validator=_positive)
    max_interval: float = field(default=10.0, converter=_seconds, validator=_positive)
    job_timeout: float = field(default=86_400.0, converter=_seconds, validator=_positive)
    unclear_timeout: float = field(default=120.0, converter=_seconds, validator=_positive)
    outage_timeout: float = field(default=3_600.0, converter=_seconds, validator=_positive)
    words: Mapping[str, str] | None = None

    def __attrs_post_init__(self) -> None:
        if self.max_interval < self.min_interval:
            raise ConfigError(f"PollPolicy(max_interval={self.max_interval}) is below min_interval={self.min_interval}")
        for word, meaning in (self.words or {}).items():
            if meaning not in ("running", "review", "succeeded", "failed"):
                raise ConfigError(f"PollPolicy(words=) must map to running, review, succeeded or failed, got {word!r}")


@frozen
class LaunchPolicy:
    """How launches treat running jobs, lost responses and credits.

    Attributes:
        dedupe: If the target's analysis or generation is running, ``"join"`` returns it; ``"off"`` launches another.
        on_unknown: What to do if a launch may or may not have been accepted: ``"raise"`` raises `LaunchUnknownError`;
            ``"repeat"`` launches once more, so two credits may be charged.
        max_credits: Maximum credits that this client's launches may cost in all, at one credit each; None for no limit.
    """

    dedupe: Literal["join", "off"] = "join"
    on_unknown: Literal["raise", "repeat"] = "raise"
    max_credits: int | None = field(default=None, validator=_optional_count)

    def __attrs_post_init__(self) -> None:
        if self.dedupe not in ("join", "off"):
            raise ConfigError(f'LaunchPolicy(dedupe=) must be "join" or "off", got {self.dedupe!r}')
        if self.on_unknown not in ("raise", "repeat"):
            raise ConfigError(f'LaunchPolicy(on_unknown=) must be "raise" or "repeat", got {self.on_unknown!r}')


@frozen
class Timeouts:
    """Time limits of one call.

    Attributes:
        request: Maximum seconds from sending an attempt to its complete response.
        connect: Maximum seconds for making a connection, included in ``request``.
        deadline: Maximum seconds of a call, including all its waits and attempts; None for no limit.
    """

    request: float = field(default=30.0, converter=_seconds, validator=_positive)
    connect: float = field(default=10.0, converter=_seconds, validator=_positive)
    deadline: float | None = field(default=None, converter=_seconds, validator=_optional_positive)


@frozen
class Connect:
    """How connections to the service are made.

    Attributes:
        session: An aiohttp session that the caller provides and closes; None lets cmsapi create its own.
        proxy: URL of a proxy.
        ssl: TLS context, for private certificate authorities or client certificates.
    """

    session: ClientSession | None = field(default=None, eq=id)
    proxy: str | None = field(default=None, repr=False)
    ssl: ssl_module.SSLContext | None = field(default=None, eq=id)

    def __attrs_post_init__(self) -> None:
        if self.ssl is not None and not isinstance(self.ssl, ssl_module.SSLContext):
            raise ConfigError("ssl must be an ssl.SSLContext; verification cannot be switched off by a flag")
        if self.proxy is not None and not str(self.proxy).startswith(("http://", "https://")):
            raise ConfigError("proxy must be a URL such as http://proxy.example.com:3128; SOCKS is not supported")
