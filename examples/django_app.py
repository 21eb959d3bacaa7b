"""Launch analyses from the views of a Django site, and tell the browser how they are; a site in one file.

    python examples/django_app.py runserver

POST /keywords/<id>/analysis launches an analysis, which **spends one credit**, and answers with a token;
GET /analyses/<token> tells how it is. It needs Django, CMSAPI_API_KEY and CMSAPI_BASE_URL.
"""

from __future__ import annotations

import sys

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

import cmsapi.blocking

if not settings.configured:
    settings.configure(DEBUG=True, ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1", "localhost"])

client = cmsapi.blocking.Client()  # its thread starts with the first call, after any fork


@csrf_exempt
@require_POST
def launch(request: HttpRequest, keyword_id: str) -> JsonResponse:
    """Launch an analysis, or join the one that runs."""
    try:
        job = client.keywords.analyze(keyword_id)
    except cmsapi.NotFoundError as error:
        return JsonResponse({"error": error.message}, status=404)
    return JsonResponse({"token": job.token}, status=202)


@require_GET
def show(request: HttpRequest, token: str) -> JsonResponse:
    """Tell how an analysis is, and its result once there is one."""
    status = client.jobs.status(token)
    if not status.done:
        return JsonResponse({"state": status.phase, "seconds_left": status.eta})
    keyword = client.jobs.attach(token, "keyword_analysis").wait()
    return JsonResponse({"state": status.phase, "keyword": keyword.keyword})


urlpatterns = [path("keywords/<str:keyword_id>/analysis", launch), path("analyses/<str:token>", show)]

if __name__ == "__main__":
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
