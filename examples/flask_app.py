"""Launch analyses from the pages of a Flask site, and tell the browser how they are.

    flask --app examples/flask_app.py run

POST /keywords/<id>/analysis launches an analysis, which **spends one credit**, and answers with a token;
GET /analyses/<token> tells how it is. It needs Flask, CMSAPI_API_KEY and CMSAPI_BASE_URL.
"""

from __future__ import annotations

from typing import Any

from flask import Flask

import cmsapi.blocking

app = Flask(__name__)
client = cmsapi.blocking.Client()  # its thread starts with the first call, after any fork


@app.post("/keywords/<keyword_id>/analysis")
def launch(keyword_id: str) -> tuple[dict[str, Any], int]:
    """Launch an analysis, or join the one that runs."""
    job = client.keywords.analyze(keyword_id)
    return {"token": job.token}, 202


@app.get("/analyses/<token>")
def show(token: str) -> dict[str, Any]:
    """Tell how an analysis is, and its result once there is one."""
    status = client.jobs.status(token)
    if not status.done:
        return {"state": status.phase, "seconds_left": status.eta}
    keyword = client.jobs.attach(token, "keyword_analysis").wait()
    return {"state": status.phase, "keyword": keyword.keyword}


@app.errorhandler(cmsapi.NotFoundError)
def missing(error: cmsapi.NotFoundError) -> tuple[dict[str, Any], int]:
    """Tell that there is no such keyword, or that the key may not see it."""
    return {"error": error.message}, 404


if __name__ == "__main__":
    app.run(threaded=True)
