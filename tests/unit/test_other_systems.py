"""Systems other than this one: what only POSIX has is taken away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# What Windows has of these modules is left. The rest is taken away once the libraries are loaded, which find their own
# way around it, and so is what the loop of Windows does not do.
PROGRAM = """
import asyncio, importlib, os, pathlib, pkgutil, signal, sys
import aiohttp.web, anyio.to_thread, anyio._backends._asyncio, attrs, cattrs, concurrent.futures.thread, sqlite3
for library in (
    "aioresponses", "cyclopts", "IPython", "matplotlib.pyplot", "mcp.server.mcpserver", "pytest", "redis.asyncio",
    "rich.console",
):
    try:
        importlib.import_module(library)
    except ImportError:
        pass

LEFT = {
    "os": "O_APPEND O_BINARY O_CREAT O_EXCL O_RDONLY O_RDWR O_TRUNC O_WRONLY",
    "signal": "SIGABRT SIGFPE SIGILL SIGINT SIGSEGV SIGTERM SIG_DFL SIG_IGN",
}
for name in [name for name in dir(os) if name.startswith("O_") and name not in LEFT["os"].split()]:
    delattr(os, name)
for name in (
    "chown chroot ctermid fchdir fchown fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getpgrp "
    "getpriority getresuid getsid getuid initgroups killpg lchown lockf mkfifo mknod nice openpty pathconf "
    "posix_fallocate posix_spawn pread preadv pwrite pwritev register_at_fork sendfile setegid "
    "seteuid setgid setpgid setsid setuid statvfs sync sysconf tcgetpgrp ttyname uname wait wait3 wait4 waitid"
).split():
    if hasattr(os, name):
        delattr(os, name)
for name in [name for name in dir(signal) if name.startswith("SIG") and name not in LEFT["signal"].split()]:
    delattr(signal, name)
for name in ("alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt", "sigwait"):
    delattr(signal, name)
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None

def missing(*args):
    raise NotImplementedError

for name in ("add_reader", "add_writer", "remove_reader", "remove_writer", "add_signal_handler"):
    setattr(asyncio.SelectorEventLoop, name, missing)

def kill(*args):
    os._exit(86)

os.kill = kill

read_text = pathlib.Path.read_text

def read(path, *args, **kwargs):
    if path.is_relative_to("/proc"):
        raise FileNotFoundError(str(path))
    return read_text(path, *args, **kwargs)

pathlib.Path.read_text = read

import cmsapi

for module in pkgutil.walk_packages(cmsapi.__path__, "cmsapi."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

from cmsapi.sandbox import Sandbox
from cmsapi.state.process import Owner

async def main():
    # On Windows any signal ends a process, so that none may be sent to find out whether it lives.
    assert not Owner(id="another", host=Owner.here().host, pid=os.getpid(), started=1).dead
    sandbox = Sandbox()
    url = f"sqlite:///{sys.argv[1]}"
    options = {"transport": sandbox.transport, "state": url}
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, **options) as client:
        await client.keywords.analyze(sandbox.keyword_ids[0])
    base_url = await sandbox.serve()
    async with cmsapi.Client(sandbox.api_key, base_url=base_url, state=url) as client:
        await client.keywords.analyze(sandbox.keyword_ids[1])
    await sandbox.aclose()
    assert len(sandbox.ledger.launches()) == 2

asyncio.run(main())
print("done")
"""


@pytest.mark.slow
@pytest.mark.enable_socket
def test_nothing_needs_what_only_posix_has(tmp_path: Path) -> None:
    """Every module is imported, and a state in a file works, where the names are missing that Windows does not have."""
    program = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "state.db")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
