"""The page for people: every operation and the rules that hold for all of them, without a script or a foreign host."""

from __future__ import annotations

import functools
from html import escape
from string import Template

from cmsapi.sandbox.openapi import summary
from cmsapi.sandbox.routes import ROUTES, Route

_PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Content Marketing Service API</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: left; vertical-align: top; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
</style>
<h1>Content Marketing Service API</h1>
<p>Version 1.0.0, served by a sandbox. The machine-readable description is at <a href="/openapi.json">/openapi.json</a>.
<ul>
<li>Every request carries <code>Authorization: Bearer sk_…</code>, except for <code>/health</code>,
<code>/openapi.json</code> and <code>/docs</code>.</li>
<li>20 requests in any second and 1,000 in any hour; beyond that 429 with <code>Retry-After</code>.</li>
<li>Errors are <code>{"error": {"code": "…", "message": "…"}}</code>.</li>
<li>Collections take <code>page</code> and <code>limit</code> (1 to 100, by default 25).</li>
</ul>
<table>
<thead><tr><th>Operation<th>What it does<th>Query<th>Body<th>Answer</thead>
<tbody>
$rows
</tbody>
</table>
</html>
""")


@functools.cache
def encoded() -> bytes:
    """Return the page as HTML."""
    return _PAGE.substitute(rows="\n".join(map(_row, ROUTES))).encode()


def _row(route: Route) -> str:
    answer = f"{route.status} {route.answers or 'null'}"
    cells = (f"{route.method} {route.template}", ", ".join(route.query), route.body or "", answer)
    operation, query, body, answer = (f"<td><code>{escape(cell)}</code>" if cell else "<td>" for cell in cells)
    return f'<tr id="{route.name}">{operation}<td>{escape(summary(route))}{query}{body}{answer}'
