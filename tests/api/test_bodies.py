"""Bodies and queries of any kind: each is taken, or refused with a reason and without a trace."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.test import RequestFactory

from jobs_app.api.bodies import StrictParser
from jobs_app.api.interface import api
from jobs_app.api.problems import MEDIA_TYPE, Problem
from jobs_app.models import JobItem
from jobs_app.remote.waiting import room
from tests.api.operations import OPERATIONS, SAMPLES, Operation
from tests.api.speaking import ROOT, Speaker
from tests.api.stored import everything_stored
from tests.api.tenants import Site

pytestmark = pytest.mark.django_db

POSTS = sorted(name for name, each in OPERATIONS.items() if each.method == "POST")
GETS = sorted(name for name, each in OPERATIONS.items() if each.method == "GET")
DOCUMENT: dict[str, Any] = api.get_openapi_schema()
SHAPES = DOCUMENT["components"]["schemas"]


class NeverRead:
    """A body that nobody may touch."""

    def read(self, *_: Any) -> bytes:
        raise AssertionError("the body was read")

    readline = read


@pytest.fixture
def speaker(site: Site, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Speaker:
    """Who may ask as often as it likes, and waits for nothing."""
    settings.JOBS = {"API_REQUESTS_PER_MINUTE": 0}
    monkeypatch.setattr(room, "wait", lambda choice, seconds, look: look())
    return Speaker()


@pytest.fixture
def nothing_stored(speaker: Speaker) -> Iterator[None]:
    speaker.get("runs")  # so that its use is noted before
    before = everything_stored()
    yield
    assert everything_stored() == before


def address(operation: Operation, site: Site) -> str:
    return ROOT + operation.path.format(**SAMPLES[operation.name](site.red).path)


def send(speaker: Speaker, name: str, site: Site, raw: bytes, kind: str = "application/json", **headers: str) -> Any:
    return speaker.client.generic("POST", address(OPERATIONS[name], site), raw, kind, headers=headers)


def sample_body(name: str, site: Site) -> dict[str, Any]:
    return dict(SAMPLES[name](site.red).body or {})


def is_refused(answer: Any, status: int) -> bool:
    return answer.status_code == status and answer["Content-Type"] == MEDIA_TYPE and bool(answer.json()["detail"])


@pytest.mark.parametrize("name", POSTS)
@pytest.mark.parametrize("length", ["2097153", "9" * 20, "9" * 5000])
@pytest.mark.usefixtures("nothing_stored")
def test_a_body_that_is_too_large_is_refused_before_any_of_it_is_read(
    name: str, length: str, speaker: Speaker, site: Site
) -> None:
    answer = speaker.client.request(
        **{
            "PATH_INFO": address(OPERATIONS[name], site),
            "REQUEST_METHOD": "POST",
            "CONTENT_LENGTH": length,
            "CONTENT_TYPE": "application/json",
            "HTTP_AUTHORIZATION": f"Bearer {speaker.text}",
            "wsgi.input": NeverRead(),
        }
    )
    assert is_refused(answer, 413)
    assert "2097152 bytes" in answer.json()["detail"]


@pytest.mark.parametrize("length", ["-1", "many", "1e3", " ", "\u0661\u0662"])
def test_a_length_that_is_none_is_no_length(length: str, speaker: Speaker) -> None:
    answer = speaker.client.post(f"{ROOT}leave", b"{}", "application/json", CONTENT_LENGTH=length)
    assert is_refused(answer, 422)


def test_a_body_may_have_as_many_bytes_as_the_setting_says(speaker: Speaker, settings: Any) -> None:
    settings.JOBS = {"API_MAX_BODY_BYTES": 40}
    body = json.dumps({"worker_id": "w" * 10}).encode()
    for size, status in ((40, 200), (41, 413)):
        answer = speaker.client.post(f"{ROOT}leave", body.ljust(size), "application/json")
        assert answer.status_code == status


def test_a_body_that_did_not_tell_its_length_is_measured(settings: Any) -> None:
    settings.JOBS = {"API_MAX_BODY_BYTES": 40}
    request = RequestFactory().post("/", b"{}", "application/json")
    request._body = b"{}".ljust(41)
    with pytest.raises(Problem) as refused:
        StrictParser().parse_body(request)
    assert refused.value.status == 413


@pytest.mark.parametrize("name", POSTS)
@pytest.mark.usefixtures("nothing_stored")
def test_a_lower_limit_of_the_host_is_told_in_the_same_way(
    name: str, speaker: Speaker, site: Site, settings: Any
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    assert is_refused(send(speaker, name, site, b"{}".ljust(101)), 413)


BROKEN: dict[str, bytes] = {
    "truncated": b'{"reason": "x',
    "two": b"{}{}",
    "a list": b"[]",
    "a text": b'"x"',
    "a number": b"1",
    "null": b"null",
    "true": b"true",
    "blank": b"  ",
    "not JSON": b"reason=x",
    "single quotes": b"{'reason': 'x'}",
    "a comma more": b'{"reason": "x",}',
    "a comment": b'{"reason": "x"} // why',
    "NaN": b'{"reason": NaN}',
    "Infinity": b'{"reason": [Infinity, -Infinity]}',
    "a large float": b'{"reason": 1e999}',
    "a very long number": b'{"reason": ' + b"9" * 5000 + b"}",
    "a very long fraction": b'{"reason": {"x": ' + b"9" * 5000 + b".5}}",
    "not UTF-8": b'{"reason": "\xff"}',
    "latin-1": '{"reason": "ä"}'.encode("latin-1"),
    "UTF-16": '{"reason": "x"}'.encode("utf-16"),
    "a mark in front": b'\xef\xbb\xbf{"reason": "x"}',
    "half a pair": b'{"reason": "\xed\xa0\x80"}',
    "a raw NUL": b'{"reason": "\0"}',
    "a raw line end": b'{"reason": "\n"}',
    "NUL in a key": rb'{"\u0000": 1}',
    "half a pair in a key": rb'{"\udc00": 1}',
    "deep lists": b'{"reason": ' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}",
    "deep objects": b'{"reason": ' + b'{"a":' * 300_000 + b"1" + b"}" * 300_000 + b"}",
    "too deep": b'{"reason": ' + b"[" * 65 + b"]" * 65 + b"}",
    "many keys": json.dumps(dict.fromkeys(map(str, range(100_000)), 1)).encode(),
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.usefixtures("nothing_stored")
def test_what_is_no_small_json_object_is_refused_soon(what: str, speaker: Speaker, site: Site) -> None:
    for name in POSTS:
        began = time.monotonic()
        answer = send(speaker, name, site, BROKEN[what])
        assert is_refused(answer, 422), name
        assert time.monotonic() - began < 2, name
        assert len(answer.content) < 3000


@pytest.mark.usefixtures("nothing_stored")
def test_a_thousand_items_with_names_that_nobody_knows_are_refused_soon(speaker: Speaker, site: Site) -> None:
    body = sample_body("report_results", site) | {"items": [dict.fromkeys("abcdefghijklmnop", 1)] * 1000}
    began = time.monotonic()
    assert is_refused(send(speaker, "report_results", site, json.dumps(body).encode()), 422)
    assert time.monotonic() - began < 2


@pytest.mark.usefixtures("nothing_stored")
def test_an_empty_body_is_one_that_says_nothing(speaker: Speaker, site: Site) -> None:
    for name in ("pull_job_by_body", "report_results", "leave", "trigger_job", "trigger_jobs", "pause", "resume"):
        assert is_refused(send(speaker, name, site, b""), 422), name


@pytest.mark.parametrize("name", ["cancel_run", "retry_run", "pause_schedule", "resume_schedule", "trigger_schedule"])
@pytest.mark.parametrize("kind", ["application/json", "application/octet-stream", ""])
def test_who_need_say_nothing_may_send_nothing(name: str, kind: str, speaker: Speaker, site: Site) -> None:
    assert send(speaker, name, site, b"", kind).status_code == 200


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "deflate", "br", "zstd", "gzip, gzip", "chunked"])
@pytest.mark.usefixtures("nothing_stored")
def test_packed_bodies_are_not_unpacked(coding: str, speaker: Speaker, site: Site) -> None:
    for name in POSTS:
        body = json.dumps(sample_body(name, site)).encode()
        answer = send(speaker, name, site, body, **{"Content-Encoding": coding})
        assert is_refused(answer, 415), name
        assert "without Content-Encoding" in answer.json()["detail"]


@pytest.mark.parametrize(
    "kind",
    [
        *(
            "text/plain",
            "text/json",
            "application/xml",
            "application/x-www-form-urlencoded",
            "application/octet-stream",
        ),
        *("multipart/form-data; boundary=x", "application/json-patch+json", "application/*", "json", ""),
    ],
)
@pytest.mark.usefixtures("nothing_stored")
def test_only_json_is_read(kind: str, speaker: Speaker, site: Site) -> None:
    for name in POSTS:
        answer = send(speaker, name, site, json.dumps(sample_body(name, site)).encode(), kind)
        assert is_refused(answer, 415), name
        assert "application/json" in answer.json()["detail"]


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON", "application/json;charset=x"])
def test_json_may_be_named_in_full(kind: str, speaker: Speaker, site: Site) -> None:
    assert send(speaker, "leave", site, b'{"worker_id": "w1"}', kind).status_code == 200


def shape_of(name: str) -> dict[str, Any]:
    content = DOCUMENT["paths"][ROOT + OPERATIONS[name].path]["post"]["requestBody"]["content"]
    return resolved(content["application/json"]["schema"])


def resolved(shape: dict[str, Any]) -> dict[str, Any]:
    for each in (shape, *shape.get("allOf", ()), *shape.get("anyOf", ())):
        if "$ref" in each:
            return dict(SHAPES[each["$ref"].rpartition("/")[2]])
    return shape


def fields() -> Iterator[tuple[str, str, Any]]:
    """Every place of every body that a text can be in, with the value that puts it there."""
    for name in POSTS:
        for field, shape in shape_of(name)["properties"].items():
            yield name, field, lambda text: text
            yield name, field, lambda text: {"x": [text]}
            yield name, field, lambda text: {text: 1}
            yield name, field, lambda text: [{"deep": [{"x": text}]}]
            for inner in resolved(shape.get("items", {})).get("properties", {}):
                yield name, field, lambda text, inner=inner: [{"key": "k", inner: text}]
                yield name, field, lambda text, inner=inner: [{"key": "k", inner: {text: text}}]


@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "a\udfffb", "\udc00\ud800"])
@pytest.mark.usefixtures("nothing_stored")
def test_what_no_database_stores_is_refused_wherever_it_stands(text: str, speaker: Speaker, site: Site) -> None:
    tried = 0
    for name, field, place in fields():
        body = sample_body(name, site) | {field: place(text)}
        assert is_refused(send(speaker, name, site, json.dumps(body).encode()), 422), (name, field)
        tried += 1
    assert tried > 200


def test_what_looks_like_an_escape_is_text_like_any_other(speaker: Speaker, site: Site) -> None:
    mine = {"job_id": str(site.red.running), "token": str(site.red.lease)}
    texts = ["\\u0000", "\\ud800", "\U0001f600", "\x7f\x85\u2028", "\x01\x1f", "\ufffe\uffff"]
    speaker.told(mine, items=[{"key": text, "data": {text: text}} for text in texts], cursor="".join(texts))
    stored = dict(JobItem.objects.filter(job_id=site.red.running).values_list("key", "data"))
    assert all(stored[text] == {text: text} for text in texts)
    told = speaker.get(f"runs/{site.red.running}/items").json()["items"]
    assert {item["key"] for item in told} >= set(texts)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400, -1, 1.5, 1e308, -0.5, True, "1"])
@pytest.mark.usefixtures("nothing_stored")
def test_numbers_that_fit_nowhere_are_refused(number: Any, speaker: Speaker, site: Site) -> None:
    for name in POSTS:
        for field, shape in shape_of(name)["properties"].items():
            kinds = {each.get("type") for each in (shape, *shape.get("anyOf", ()))}
            if "integer" in kinds and not (field == "priority" and number == -1):
                body = sample_body(name, site) | {field: number}
                assert is_refused(send(speaker, name, site, json.dumps(body).encode()), 422), (name, field)


@pytest.mark.parametrize(
    "data",
    [
        10**4000,
        -(10**4000),
        0.1,
        -0.0,
        dict.fromkeys(map(str, range(100_000)), 1),
        list(range(100_000)),
        "x" * 1_000_000,
        json.loads("[" * 60 + "]" * 60),
        {"": {"": ""}},
        [None, True, False, 1, 1.5, "x", {}, []],
    ],
    ids=lambda data: str(data)[:20],
)
def test_data_of_items_comes_back_as_it_was(data: Any, speaker: Speaker, site: Site) -> None:
    mine = {"job_id": str(site.red.running), "token": str(site.red.lease)}
    speaker.told(mine, items=[{"key": "large", "data": data}])
    found = {item["key"]: item["data"] for item in speaker.get(f"runs/{site.red.running}/items").json()["items"]}
    assert found["large"] == data


WORST = ["\0", "a\0b", "\ufffe", "9" * 19, "9" * 5000, "nan", "[" * 200, "[z-a]", "%s"]
GARBAGE = [
    *WORST,
    *("", " ", "\0", "a\0", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "\U0001f600", "\ufffe"),
    *(
        "'",
        "' OR 1=1 --",
        '";--',
        "%",
        "_",
        "\\",
        "%s",
        "%(x)s",
        "{}",
        "{0}",
        "$1",
        "*",
        "?",
        "[",
        "[!",
        "[z-a]",
        "(?i)",
    ),
    *("0", "-1", "1", "1.0", "1e3", "9" * 19, "9" * 30, "9" * 5000, "0x1f", "\u0661", "nan", "inf", "-inf", "1_0"),
    *("null", "true", "[]", '["a"]', '["a","b","c"]', "[" * 1000, '{"a": 1}', '"x"', "[1,2,3]", '["\\u0000","",""]'),
    *("0001-01-01", "9999-12-31T23:59:59.999999-23:59", "0001-01-01T00:00:00+23:59", "2026-02-30", "12:00", "now"),
    *("00000000-0000-0000-0000-000000000000", "f" * 32, "urn:uuid:" + "f" * 32, "{" + "f" * 32 + "}"),
    *(".", "0.0", f"1.{'f' * 32}", f"{'9' * 20}.{'f' * 32}", f"-{'9' * 15}.{'f' * 32}", f"nan.{'f' * 32}"),
    *("a" * 199, "a" * 201, "a" * 10_000, "ä" * 200, "\n", "a\r\nb", "\u202e", "../../etc/passwd", "<script>"),
    *("id:x", "id:" + "f" * 32, "payload.a:b", "payload..a:b", "payload.api_token:x", 'q:"', 'subject:""', "state:x"),
    *("1h", "5m", "0s", "1e400", "24h", "any", "all", "failed", "more", "due", "jobs.system", "jobs.prune"),
]


def parameters(name: str) -> list[str]:
    operation = DOCUMENT["paths"][ROOT + OPERATIONS[name].path]["get"]
    return [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]


def is_an_answer(answer: Any) -> bool:
    if answer.status_code == 200:
        return answer["Content-Type"].startswith("application/json")
    return any(is_refused(answer, status) for status in (403, 404, 422))


def try_values(name: str, tried: Iterable[tuple[str, str]], speaker: Speaker, site: Site) -> None:
    sample = SAMPLES[name](site.red)
    path = OPERATIONS[name].path.format(**sample.path)
    for parameter, value in tried:
        answer = speaker.get(path, **{**sample.query, parameter: [value, value]})
        assert is_an_answer(answer), (parameter, value)


@pytest.mark.parametrize("name", GETS)
def test_no_value_of_a_query_breaks_anything(name: str, speaker: Speaker, site: Site) -> None:
    """The worst at each parameter; the others take turns."""
    places = [*parameters(name), "unknown"]
    try_values(name, itertools.product(places, WORST), speaker, site)
    try_values(name, zip(itertools.cycle(places), GARBAGE, strict=False), speaker, site)


@pytest.mark.slow
@pytest.mark.parametrize("name", GETS)
def test_no_value_at_any_place_of_a_query_breaks_anything(name: str, speaker: Speaker, site: Site) -> None:
    try_values(name, itertools.product([*parameters(name), "unknown"], GARBAGE), speaker, site)


@pytest.mark.parametrize("name", sorted(name for name, each in OPERATIONS.items() if "{" in each.path))
def test_no_value_of_an_address_breaks_anything(name: str, speaker: Speaker) -> None:
    operation = OPERATIONS[name]
    before, _, behind = operation.path.partition("{")
    after = behind.partition("}")[2]
    for value in GARBAGE:
        path = f"{ROOT}{before}{value}{after}".encode("utf-8", "surrogateescape").decode("latin-1")
        answer = speaker.client.request(PATH_INFO=path, REQUEST_METHOD=operation.method)
        assert answer.status_code in (200, 404, 405, 409, 422), value


@pytest.mark.parametrize("raw", ["%00", "%", "%zz", "%ff", "a=%ff&%ff=a", "&&&", "=", "a" * 60_000, "limit=1" * 500])
def test_no_query_that_is_none_breaks_anything(raw: str, speaker: Speaker, site: Site) -> None:
    for name in GETS:
        path = address(OPERATIONS[name], site)
        for query in (raw, f"worker_id=w1&{raw}", f"worker_id={raw}&queues={raw}&q={raw}"):
            assert is_an_answer(speaker.client.get(path, QUERY_STRING=query)), (name, query)


def test_more_parameters_than_django_takes_are_refused(speaker: Speaker, site: Site) -> None:
    for name in GETS:
        if not parameters(name):
            continue
        answer = speaker.client.get(address(OPERATIONS[name], site), QUERY_STRING="&".join(["a=1"] * 1001))
        assert is_refused(answer, 422), name
