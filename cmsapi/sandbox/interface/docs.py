"""The documentation for people at `/docs`: the general rules and a table of the operations.

The page works without scripts. On a socket a script turns the table into a reference that sends requests.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from html import escape
from string import Template

from cmsapi.sandbox.interface.descriptions import summary
from cmsapi.sandbox.interface.routes import Route

# For every page and script: a browser loads nothing from other sites, allows no frame around it, and stores nothing.
BROWSER_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_DOCUMENT = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Content Marketing Service API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/_sandbox/page.css">
<script type="module" src="/_sandbox/reference.js"></script>
</head>
<body>
<a class="skip" href="#operations">Skip to the operations</a>
<header class="top">
  <h1>Sandbox</h1>
  <nav aria-label="Pages"><a href="/">Live</a><a href="/docs" aria-current="page">Reference</a></nav>
  <p class="quiet">version 1.0.0 · <a href="/openapi.json">openapi.json</a></p>
</header>
<p id="lost" class="lost" role="alert" hidden>The browser cannot read /openapi.json, so this page shows only a table.
<a href="/docs">Try again</a></p>
<div class="page">
<section aria-labelledby="rules-title">
<h2 id="rules-title">Content Marketing Service API</h2>
<ul class="rules">
<li>Every request has the header <code>Authorization: Bearer sk_…</code>, except for <code>/health</code>,
<code>/openapi.json</code> and <code>/docs</code>.</li>
<li>A key may send 20 requests in any second and 1,000 in any hour; further requests get a 429 with
<code>Retry-After</code>.</li>
<li>Errors have the form <code>{"error": {"code": "…", "message": "…"}}</code>.</li>
<li>Collections take <code>page</code> and <code>limit</code> (1 to 100, 25 by default).</li>
</ul>
</section>
<main id="operations">
<table>
<thead><tr><th>Operation<th>What it does<th>Query<th>Body<th>Answer</thead>
<tbody>
$rows
</tbody>
</table>
</main>
</div>
</body>
</html>
""")


@functools.cache
def encoded(routes: tuple[Route, ...]) -> bytes:
    """Return the page as HTML."""
    return _DOCUMENT.substitute(rows="\n".join(map(_row, routes))).encode()


def _row(route: Route) -> str:
    answer = f"{route.status} {route.answers or 'null'}"
    cells = (f"{route.method} {route.template}", ", ".join(route.query), route.body or "", answer)
    operation, query, body, answer = (f"<td><code>{escape(cell)}</code>" if cell else "<td>" for cell in cells)
    return f'<tr id="{route.name}">{operation}<td>{escape(summary(route.handler))}{query}{body}{answer}'
