"""Share a state among many hosts, on Redis 6.2 or Valkey.

Each transaction is two scripts on the server, by the server's clock. A process may die at any moment without a loss.
When the server itself loses its data, open jobs are lost with it: a server that writes nothing to a disk is warned of,
once.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
import random
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import redis.asyncio as redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError, RedisError, TimeoutError as RedisTimeoutError

from cmsapi.errors import ConfigError, StateError
from cmsapi.state import scripts
from cmsapi.state.redaction import redact_url
from cmsapi.state.rows import Read, Rows, Table, Transaction, Write
from cmsapi.state.store import LEASE_TTL, State, T
from cmsapi.state.text import read_text, write_text

logger: logging.Logger = logging.getLogger("cmsapi")

# Seconds for one command; a failed one is repeated twice.
TIMEOUT = 2.0
REPEATS = 2
# Seconds for one command with all repeats, once the server was waited for in vain, until it answers again.
SHORT_TIMEOUT = 1.0
CONNECTIONS = 16
# Milliseconds for which a transaction locks rows, so that a process that dies in one holds the others up for no longer;
# seconds for which the others try; and those for which the limits are kept.
LOCK_LIFE = 1000
TRY_FOR = 5.0
LIMITS_TTL = 7200
OLDEST = (6, 2)
# Without these the client reads its own version from the disk, on the loop, for each connection.
_NAMELESS: dict[str, Any] = (
    {"driver_info": None}
    if "driver_info" in inspect.signature(AbstractConnection.__init__).parameters
    else {"lib_name": None, "lib_version": None}
)


_NO_ANSWER = (RedisConnectionError, RedisTimeoutError, OSError, TimeoutError)


class RedisState(State):
    """Share a state among many hosts, on Redis 6.2 or Valkey.

    Args:
        url: `redis://[[user]:password@]host[:port][/db]`, or the same with `rediss` for TLS. What the Redis client
            takes as a query, such as `ssl_ca_certs`, may follow.
        lease_ttl: Seconds after which leases of an owner without a heartbeat may be taken over.

    Raises:
        ConfigError: The URL cannot be read.
    """

    def __init__(self, url: str, *, lease_ttl: float = LEASE_TTL) -> None:
        super().__init__(lease_ttl)
        self._shown_url = redact_url(url)
        # Older clients accept the certificate of any host.
        checks = {"ssl_check_hostname": True} if url.startswith("rediss:") else {}
        try:
            pool = redis.BlockingConnectionPool.from_url(
                url,
                max_connections=CONNECTIONS,
                decode_responses=True,
                socket_timeout=TIMEOUT,
                socket_connect_timeout=TIMEOUT,
                retry=Retry(ExponentialBackoff(cap=0.4, base=0.05), REPEATS),
                **_NAMELESS,
                **checks,
                retry_on_error=[RedisConnectionError, RedisTimeoutError],
            )
        except (ValueError, TypeError) as error:
            raise ConfigError(
                f"state: {self._shown_url} is not the URL of a Redis server ({type(error).__name__})."
            ) from None
        self._client: redis.Redis = redis.Redis.from_pool(pool)
        self._greeted = False
        self._greeting = asyncio.Lock()
        # Commands to which the server has not answered, whether the last one was such, and the last cause that it or
        # the network named since it answered.
        self._unanswered = 0
        self._silent = False
        self._cause = ""
        self._closed = False
        self._scripts = [
            self._client.register_script(script) for script in (scripts.LOCK_AND_READ, scripts.WRITE_AND_UNLOCK)
        ]

    async def _run(self, transaction: Transaction[T]) -> T:
        mine, time = secrets.token_hex(8), asyncio.get_running_loop().time
        give_up = time() + TRY_FOR
        # Where its version stands, and its locks.
        keys = [_key(transaction.scope, "version")]
        keys += [_key(transaction.scope, "lock", read.table.title, *read.names) for read in transaction.locked]
        while True:
            found = await self._ask(self._lock_and_read, mine, keys, transaction.reads)
            if found is not None:
                writes: Sequence[Write] = ()
                try:
                    writes, result = transaction.decide(*found)
                finally:
                    # Also when nothing is written, because of the locks.
                    done = transaction.flushed is None or await self._ask(self._write_and_unlock, mine, keys, writes)
                if done:
                    return result
            if time() > give_up:
                raise StateError(
                    f"The state {self._shown_url} cannot be used: for {TRY_FOR:g} s, other processes changed the same "
                    "rows. Nothing was written."
                )
            await asyncio.sleep(random.uniform(0.001, 0.02))  # noqa: S311  no secret

    async def _lock_and_read(self, mine: str, keys: Sequence[str], reads: Sequence[Read]) -> list[Any] | None:
        """Lock rows, and return the time and what was read; None while another transaction has locked them."""
        hashes = [(read, key) for read in reads for key in await self._hashes(read)]
        args: list[Any] = [mine, len(keys) - 1, LOCK_LIFE]
        for read, _ in hashes:
            args += ("row" if read.table.durable else "unsure", read.names[-1]) if read.is_one else ("rows", "")
        answer: Any = await self._scripts[0]([*keys, *(key for _, key in hashes)], args)
        if answer is None:
            return None
        found: dict[Read, Rows] = {read: [] for read in reads}
        for (read, _), texts in zip(hashes, answer[1], strict=True):
            pairs = [(read.names[-1], *texts)] if read.is_one else zip(texts[::2], texts[1::2], strict=True)
            found[read] += [(name, *_read_values(read.table, text)) for name, text in pairs if text is not None]
        return [int(answer[0]) / 1e6, *found.values()]

    async def _write_and_unlock(self, mine: str, keys: Sequence[str], writes: Sequence[Write]) -> bool:
        """Write rows and unlock them; return whether they were still locked."""
        args: list[Any] = [mine, len(keys) - 1]
        for write in writes:
            args += write.names[-1], _written(write), "" if write.table.durable else LIMITS_TTL
        hashes = [_key(write.names[0], write.table.title, *write.names[1:-1]) for write in writes]
        return bool(await self._scripts[1]([*keys, *hashes], args))

    async def _hashes(self, read: Read) -> list[str]:
        """Return the keys of the hashes in which rows lie."""
        names, missing = read.names, len(read.table.names) - len(read.names)
        key = _key(names[0], read.table.title, *(names[1:] if missing else names[1:-1]))
        if missing < 2:
            return [key]
        return [found async for found in self._client.scan_iter(match=f"{key}:*", count=1000)]

    async def _ask(self, command: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        """Run a command, after the server was greeted.

        Raises:
            StateError: The server does not answer, refuses, or holds another version's state.
        """
        if self._closed:
            raise StateError(f"The state {self._shown_url} is closed; nothing was written.")
        unanswered, greeted = self._unanswered, False
        try:
            if not self._greeted:
                async with self._greeting:
                    if not self._greeted:
                        if self._unanswered != unanswered:
                            raise RedisConnectionError(self._cause)
                        async with self._time_limit():
                            await self._greet()
            greeted = True
            async with self._time_limit():
                result = await command(*args)
        except (RedisError, OSError, TimeoutError) as error:
            self._silent = isinstance(error, _NO_ANSWER)
            self._unanswered += self._silent
            self._cause = str(error).rstrip(".") or self._cause
            raise self._error(error, greeted) from error
        self._silent, self._cause = False, ""
        return result

    def _time_limit(self) -> asyncio.Timeout:
        """Wait shortly for a server that was waited for in vain, so that closing a client waits for it once."""
        return asyncio.timeout(SHORT_TIMEOUT if self._silent else None)

    def _error(self, error: Exception, greeted: bool) -> StateError:
        said = str(error).rstrip(".")
        if not said:
            said = f"no answer; before that {self._cause}" if self._cause else "no answer"
        if said.startswith("CMSAPI "):
            _, found, ours = said.split()
            return StateError(
                f"The state {self._shown_url} was made by another version of this SDK (its layout is {found}, this "
                f"one's is {ours}); it was left as it is. Let all processes that share it use one version, "
                "or use another database. Jobs that are open in it are only known there."
            )
        return StateError(
            f"The state {self._shown_url} cannot be used ({type(error).__name__}: {said}). "
            # Before it is greeted, nothing is sent to it that would change something.
            f"{'What was to be written may have been written' if greeted else 'Nothing was written'}. "
            "See that the server runs, can be reached, and lets this user run scripts."
        )

    async def _greet(self) -> None:
        about: Any = await self._client.info()
        version = str(about.get("redis_version", ""))
        if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < OLDEST:
            raise StateError(
                f"The server at {self._shown_url} is Redis {version}; the shared state needs 6.2 or later."
            )
        await self._warn_of_loss(about)
        self._greeted = True

    async def _warn_of_loss(self, about: Any) -> None:
        if self._shown_url in _warned:
            return
        _warned.add(self._shown_url)
        try:
            said: Any = await self._client.config_get("save", "maxmemory-policy")
        except RedisError:
            # Many services do not let their users read this.
            said = {}
        if said.get("save") == "" and not about.get("aof_enabled"):
            logger.warning(
                "the server at %s writes nothing to a disk: when it restarts, open jobs and what is left of the limits "
                "are forgotten, and launches may be paid twice; switch on appendonly",
                self._shown_url,
            )
        policy = str(said.get("maxmemory-policy") or about.get("maxmemory_policy") or "noeviction")
        if policy != "noeviction":
            # Only what is kept about the limits has a time to live.
            kept = "about the limits" if policy.startswith("volatile") else "about open jobs and the limits"
            logger.warning(
                "the server at %s may evict what is kept %s (maxmemory-policy %s); use noeviction",
                self._shown_url,
                kept,
                policy,
            )

    async def aclose(self) -> None:
        """Let others claim what this process holds, and close the connections."""
        if self._closed:
            return
        try:
            await super().aclose()
        finally:
            self._closed = True
            await self._client.aclose()


_warned: set[str] = set()


def _key(scope: str, *names: str) -> str:
    tag = hashlib.blake2b(scope.encode(), digest_size=16).hexdigest()
    return ":".join(("cmsapi", f"{{{tag}}}", *names))


def _written(write: Write) -> str:
    """Return the text of the values of a row: a single one as it is."""
    if write.values is None:
        return ""
    return str(write.values[0]) if len(write.values) == 1 else write_text(write.values)


def _read_values(table: Table, text: str) -> Sequence[Any]:
    """Return the values of a row.

    Raises:
        StateError: The text does not hold them.
    """
    if len(table.values) == 1:
        return [text]
    values = read_text(text)
    if not isinstance(values, list) or len(values) != len(table.values):
        raise StateError(
            f"A row of the state ({table.title}) cannot be read; something other than this SDK wrote there. Nothing "
            "was sent or charged; use another state, or repair this one."
        )
    return values
