"""Redis store, for processes on several machines (extra ``redis``).

Launches and limits are changed only by the script ``redis.lua``, which runs atomically. A Redis cluster is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

import anyio
import anyio.to_thread
from attrs import fields

from cmsapi.config import HOUR, SECOND
from cmsapi.errors import ConfigError, StateError
from cmsapi.observe.log import logger
from cmsapi.state.store import PATIENCE, SCHEMA, JobStatus, Row, Taken, check_schema, host_of

_FIELDS = [each.name for each in fields(Row) if each.name not in ("age", "remaining", "id")]


class RedisStore:
    """Shared store on one Redis server; its first use opens the connection."""

    def __init__(self, url: str, key: str) -> None:
        try:
            from redis import RedisError
            from redis.asyncio.connection import parse_url
        except ImportError:
            raise ConfigError("state=redis:// needs redis: pip install 'cmsapi[redis]'") from None
        try:
            parse_url(url)
        except ValueError:
            raise ConfigError("state is not a Redis address: expected redis://user:password@host:port/0") from None
        self.scope: str = ""
        self._url = url
        self._key = key
        self._name = host_of(url)
        self._errors = (RedisError, OSError)
        self._client: Any = None
        self._script: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._one_at_a_time = asyncio.Lock()
        self._looked = False  # True once the settings of the server have been checked

    async def insert(self, row: Row, deadline: float, item: tuple[str, str] | None = None) -> Row | None:
        place = ("1", *item) if item else ("0", "", "")
        values = [(name, getattr(row, name)) for name in _FIELDS if getattr(row, name) is not None]
        written = [each for pair in values for each in pair]
        return self._first(await self._launches("insert", row.id, row.kind, row.target, deadline, *place, *written))

    async def get(self, launch_id: str) -> Row | None:
        return self._first(await self._launches("get", launch_id))

    async def find(self, kind: str, target: str) -> Row | None:
        return self._first(await self._launches("find", kind, target))

    async def rows(self, statuses: Iterable[JobStatus]) -> list[Row]:
        found = self._read(await self._launches("rows", *statuses))
        return sorted((row for _, row in found), key=lambda row: -row.age)

    async def update(self, row: Row, deadline: float | None = None, **changes: Any) -> bool:
        written: list[Any] = []
        for name, value in changes.items():
            written += (f"-{name}", "") if value is None else (name, value)
        over = "" if deadline is None else deadline
        expected = (row.id, row.status, row.attempt, changes.get("status", ""), over)
        return bool(await self._launches("update", *expected, *written))

    async def delete(self, *ids: str) -> None:
        await self._launches("delete", *ids)

    async def add_item(self, batch: str, item: str, launch_id: str) -> None:
        await self._launches("add_item", batch, item, launch_id)

    async def items(self, batch: str) -> dict[str, Row]:
        return dict(self._read(await self._launches("items", batch)))

    async def drop_items(self, batch: str, items: Iterable[str]) -> None:
        await self._launches("drop_items", batch, *items)

    async def batches(self) -> dict[str, dict[JobStatus, int]]:
        counts: dict[str, dict[JobStatus, int]] = {}
        for name, word in await self._launches("batches"):
            count, status = counts.setdefault(name.decode(), {}), JobStatus(word.decode())
            count[status] = count.get(status, 0) + 1
        return counts

    async def durations(self) -> dict[str, str]:
        learned = await self._command("HGETALL", f"cmsapi:{{{self.scope}}}:durations")
        return {kind.decode(): value.decode() for kind, value in learned.items()}

    async def save_durations(self, kind: str, learned: str) -> None:
        await self._command("HSET", f"cmsapi:{{{self.scope}}}:durations", kind, learned)

    async def take(self, request_id: str, per_second: int, per_hour: int, seconds: float) -> Taken:
        wait, used = await self._call(self._key, "take", request_id, per_second, per_hour, seconds, SECOND, HOUR)
        jobs = await self._command("HGETALL", f"cmsapi:{{{self.scope}}}:jobs")
        return Taken(float(wait), used, {kind.decode(): int(count) for kind, count in jobs.items() if int(count)})

    async def answered(self, request_id: str, *, departed: bool, pause: float) -> int:
        count: int = await self._call(self._key, "answered", request_id, int(departed), pause, HOUR)
        return count

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            with anyio.CancelScope(shield=True), contextlib.suppress(*self._errors):
                await client.aclose()

    def _first(self, reply: list[Any]) -> Row | None:
        return next((row for _, row in self._read(reply)), None)

    def _read(self, reply: list[Any]) -> list[tuple[str, Row]]:
        now, found = float(reply[0]), []
        for name, launch_id, pairs in reply[1:]:
            read: dict[str, Any] = {name.decode(): value for name, value in zip(pairs[::2], pairs[1::2], strict=True)}
            created, deadline = float(read["created"]), float(read["deadline"])
            # A newer version may have written fields that this version does not know.
            row = {
                each: value if each == "result" else value.decode() for each, value in read.items() if each in _FIELDS
            }
            row |= {"status": JobStatus(row["status"]), "attempt": int(row["attempt"]), "id": launch_id.decode()}
            found.append((name.decode(), Row(**row, age=now - created, remaining=deadline - now)))
        return found

    async def _launches(self, operation: str, *values: Any) -> Any:
        return await self._call(self.scope, operation, *values)

    async def _call(self, tag: str, *values: Any) -> Any:
        return await self._carry_out(lambda: self._script([f"cmsapi:{{{tag}}}"], values))

    async def _command(self, *words: str) -> Any:
        return await self._carry_out(lambda: self._client.execute_command(*words))

    async def _carry_out(self, work: Any) -> Any:
        if self._loop is not asyncio.get_running_loop():
            self._loop, self._client, self._one_at_a_time = asyncio.get_running_loop(), None, asyncio.Lock()
        async with self._one_at_a_time:
            try:
                await self._open()
                return await work()
            except BaseException as error:
                await self.aclose()
                if isinstance(error, self._errors):
                    reason = f"{type(error).__name__}: {error}"
                    raise StateError(f"the state {self._name} does not answer: {reason}") from error
                raise

    async def _open(self) -> None:
        """Open the connection. If it is already open, test it with a ping, because a failed command is not repeated."""
        import redis
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        if self._client is not None:
            try:
                await self._client.ping()
            except self._errors:  # the server has closed it
                await self.aclose()
            else:
                return
        options: dict[str, Any] = {"protocol": 2, "retry": Retry(NoBackoff(), 0)}
        options |= {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}
        if hasattr(redis, "driver_info"):
            options["driver_info"] = None  # the default reads files in the event loop
        self._client = Redis.from_url(self._url, **options)
        source = await anyio.to_thread.run_sync(lambda: files("cmsapi.state").joinpath("redis.lua").read_text())
        self._script = self._client.register_script(source)
        await self._look()
        await self._client.set("cmsapi:schema", SCHEMA, nx=True)
        check_schema(self._name, await self._client.get("cmsapi:schema"))

    async def _look(self) -> None:
        from redis import ResponseError

        about: dict[str, Any] = {}
        with contextlib.suppress(ResponseError):  # some hosts forbid these commands
            about |= await self._client.info()
            about |= await self._client.config_get("save")
        if about.get("cluster_enabled"):
            problem = f"the state {self._name} is a Redis cluster, and a Redis cluster is not supported"
            raise StateError(f"{problem}: use a single Redis server, PostgreSQL or SQLite")
        if self._looked:
            return
        self._looked = True
        lost = "launches and the count of requests may be lost, and jobs paid for twice"
        policy = about.get("maxmemory_policy", "noeviction")
        if policy != "noeviction":
            logger.warning("the state %s deletes entries when its memory is full (%s): %s", self._name, policy, lost)
        if not about.get("aof_enabled", 1) and not about.get("save", "unknown"):
            logger.warning("the state %s writes nothing to disk: %s when it restarts", self._name, lost)
