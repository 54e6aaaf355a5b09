"""Refusals: one JSON shape for all of them, with what to do next."""

from __future__ import annotations

import json
import math
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from pydantic import BaseModel, Field

from jobs_app import errors
from jobs_app.insights.budget import OutOfBudget
from jobs_app.remote.waiting import Full
from jobs_app.text import clean

MEDIA_TYPE = "application/problem+json"
LONGEST_DETAIL = 2000
MOST_TOLD = 5  # of what is wrong with a body

# The nearest class decides. What is not here is a fault of ours, and Django deals with it.
STATUSES: dict[type[Exception], HTTPStatus] = {
    errors.PayloadInvalid: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.OptionInvalid: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.UnknownJobType: HTTPStatus.NOT_FOUND,
    errors.RunNotFound: HTTPStatus.NOT_FOUND,
    errors.LeaseLost: HTTPStatus.CONFLICT,
    errors.IdempotencyConflict: HTTPStatus.CONFLICT,
    errors.KeyTaken: HTTPStatus.CONFLICT,
    errors.JobDisabled: HTTPStatus.CONFLICT,
    errors.NotPossible: HTTPStatus.CONFLICT,
    PermissionDenied: HTTPStatus.FORBIDDEN,
    RequestDataTooBig: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    TooManyFieldsSent: HTTPStatus.UNPROCESSABLE_ENTITY,
    UnreadablePostError: HTTPStatus.UNPROCESSABLE_ENTITY,
    Http404: HTTPStatus.NOT_FOUND,
}
AWAY = "the database could not answer in time. Send the same again, with the same idempotency_key if it has one."
FULL = "as many pulls wait here as may. Pull without wait_sec, or come again."


class Problem(Exception):
    """A refusal with a status of its own."""

    def __init__(self, status: int, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.retry_after = retry_after  # seconds


class ProblemBody(BaseModel):
    """Why a request was refused, as RFC 9457 has it."""

    type: str = Field(description="always about:blank: the status says the kind")
    title: str
    status: int
    detail: str = Field(description="what is wrong, and what to do about it")


def answer(status: int, detail: str, *, retry_after: float | None = None) -> HttpResponse:
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": int(status), "detail": clean(detail, LONGEST_DETAIL)}
    response = HttpResponse(json.dumps(body), status=status, content_type=MEDIA_TYPE)
    if status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = 'Bearer realm="jobs"'
    if retry_after is not None:
        response["Retry-After"] = str(math.ceil(retry_after))
    return response


def install(api: NinjaAPI) -> None:
    """Let each known error be answered; any other is raised, so that Django and whatever watches it hear of it."""
    handlers: dict[type[Exception], Any] = {
        **dict.fromkeys(STATUSES, _known),
        **dict.fromkeys((OperationalError, InterfaceError, OutOfBudget), _away),
        Problem: _problem,
        ValidationError: _invalid,
        HttpError: _of_ninja,
        Full: _full,
        Exception: _raise,
    }
    for kind, handler in handlers.items():
        api.add_exception_handler(kind, handler)


def _known(request: HttpRequest, error: Exception) -> HttpResponse:
    status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    return answer(status, str(error) or HTTPStatus(status).description)


def _problem(request: HttpRequest, error: Problem) -> HttpResponse:
    return answer(error.status, error.detail, retry_after=error.retry_after)


def _of_ninja(request: HttpRequest, error: HttpError) -> HttpResponse:
    """Behind one about a body stands what our own reading of it had to say."""
    if isinstance(error.__cause__, Problem):
        return _problem(request, error.__cause__)
    return answer(error.status_code, str(error))


def _away(request: HttpRequest, error: Exception) -> HttpResponse:
    return answer(503, AWAY, retry_after=1)


def _full(request: HttpRequest, error: Full) -> HttpResponse:
    return answer(429, FULL, retry_after=1)


def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    told = [_told(each) for each in error.errors[:MOST_TOLD]]
    more = len(error.errors) - len(told)
    return answer(422, "; ".join(told) + (f"; and {more} more" if more else "") + ".")


def _told(fault: dict[str, Any]) -> str:
    place = [str(part) for part in fault["loc"] if part not in ("asked", "body", "query", "path", "told")]
    return f"{'.'.join(place) or 'the body'}: {fault['msg']}"


def _raise(request: HttpRequest, error: Exception) -> HttpResponse:
    raise error
