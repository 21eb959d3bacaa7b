"""All commands, by name."""

from __future__ import annotations

from cmsapi._version import __version__
from cmsapi.cli.commands.analyze import analyze
from cmsapi.cli.commands.contents import contents
from cmsapi.cli.commands.credits import credits  # noqa: A004  the name of the command
from cmsapi.cli.commands.demo import demo
from cmsapi.cli.commands.doctor import doctor
from cmsapi.cli.commands.folders import folders
from cmsapi.cli.commands.generate import generate
from cmsapi.cli.commands.ideas import ideas
from cmsapi.cli.commands.jobs import jobs
from cmsapi.cli.commands.keywords import keywords
from cmsapi.cli.commands.lists import brand_voices, knowledge_documents, users, workspaces
from cmsapi.cli.commands.mcp import mcp
from cmsapi.cli.commands.me import me
from cmsapi.cli.commands.pages import pages
from cmsapi.cli.commands.prompts import prompts
from cmsapi.cli.commands.sandbox import sandbox
from cmsapi.cli.commands.schema import schema
from cmsapi.cli.commands.top import top
from cmsapi.cli.terminal.bash_words import CompletedApp

app: CompletedApp = CompletedApp(
    name="cmsapi",
    help="Work with the Content Marketing Service, or with its sandbox.",
    help_epilogue="The key comes from CMSAPI_API_KEY, the address from CMSAPI_BASE_URL. --allow-http or "
    "CMSAPI_ALLOW_HTTP=1 lets the key travel over plain http:// to another machine. -v shows requests, retries, waits, "
    "polls and launches on standard error, -vv all events, as CMSAPI_LOG=info and CMSAPI_LOG=debug do. "
    "Exit codes: 0 done, 1 refused or no result, 2 wrong usage, 3 some items without a result, 4 no credits left, "
    "5 sent but outcome unknown, 130 interrupted.",
    version=__version__,
)
for _command in (
    me,
    credits,
    users,
    workspaces,
    folders,
    pages,
    keywords,
    prompts,
    brand_voices,
    knowledge_documents,
    contents,
    analyze,
    ideas,
    generate,
    jobs,
    top,
    doctor,
    schema,
    sandbox,
    mcp,
    demo,
):
    app.command(_command)
app.register_install_completion_command(help="Install completion for this shell.")
