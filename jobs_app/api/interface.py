"""All operations together, their description, and the addresses they stand at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db import connections, transaction
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, re_path
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

import jobs_app
from jobs_app.api import operating, problems, runs, triggers, workers
from jobs_app.api.access import Bearer
from jobs_app.api.bodies import StrictParser, require_small_and_plain
from jobs_app.api.page import Page

DESCRIPTION = "Pull and report jobs from other hosts, trigger jobs, read runs, operate. Each call carries an API token."
JSON = "application/json"
NOWHERE = "nothing is at this address: api/docs lists all that there is, and api/openapi.json describes it."


class Interface(NinjaAPI):
    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """With the scope that each operation needs, and the media type that refusals really have."""
        schema = super().get_openapi_schema(**options)
        scopes = dict(_scopes())
        for operations in schema["paths"].values():
            for operation in operations.values():
                operation["description"] += f" Scope: {scopes[operation['operationId']]}."
                for status, response in operation["responses"].items():
                    if int(status) >= 400:
                        response["content"] = {problems.MEDIA_TYPE: response["content"][JSON]}
        return schema


api = Interface(
    title="jobs_app",
    version=jobs_app.__version__,
    description=DESCRIPTION,
    urls_namespace="jobs_app:api",
    docs=Page(),
    parser=StrictParser(),
)
problems.install(api)
ROUTERS = [module.router for module in (workers, triggers, runs, operating)]
for router in ROUTERS:
    api.add_router("", router)


def _scopes() -> Iterator[tuple[str, str]]:
    for router in ROUTERS:
        for view in router.path_operations.values():
            for operation in view.operations:
                assert isinstance(operation.auth_param, Bearer)
                yield str(operation.operation_id), operation.auth_param.scope


def urls() -> tuple[list[Any], str, str]:
    """As `path` takes them; what is at none of them is refused as everything else is."""
    patterns, app, namespace = api.urls
    patterns.append(re_path("", _nowhere))
    for pattern in patterns:
        assert isinstance(pattern, URLPattern)
        pattern.callback = _answering(pattern.callback)
    return patterns, app, namespace


def _answering(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Not inside a transaction of the host's: a pull would wait in it, and hold back every other worker. No cookie
    counts here, so that there is nothing to forge; and no answer is worth keeping."""

    @wraps(view)
    def answer(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        try:
            require_small_and_plain(request)
            response = view(request, *arguments, **named)
        except problems.Problem as problem:
            response = problems.answer(problem.status, problem.detail)
        except Http404:
            response = problems.answer(404, NOWHERE)
        if response.status_code == 405:
            refused = problems.answer(405, f"{request.method} is not for this address: use {response['Allow']}.")
            refused["Allow"] = response["Allow"]
            response = refused
        response["Cache-Control"] = "no-store"
        response["X-Content-Type-Options"] = "nosniff"
        return response

    for alias in connections:
        transaction.non_atomic_requests(alias)(answer)
    return login_not_required(csrf_exempt(answer))  # a token is asked for


def _nowhere(request: HttpRequest) -> HttpResponseBase:
    raise Http404
