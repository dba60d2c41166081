"""Asking a UI that is slow, gone, wrong or endless: time, tries and bytes are bounded."""

import json

import pytest

from streamgauge.engines.storm.collection.ui import Refused, UiClient
from streamgauge.errors import InvalidInput, SourceUnreachable
from streamgauge.lake.http import Credentials, Patience
from tests.engines.storm.collection.uis import HASTE, client, document
from tests.pipeline.http_servers import Fault

PAGE = b"<!DOCTYPE html>\n<html><body>Sign in</body></html>"


def test_an_answer_is_the_object_that_was_sent(ui):
    assert client(ui).get("topology/summary") == document("topology-summary")


def test_a_path_before_the_service_and_the_service_itself_may_be_in_the_address(ui):
    for tail in ("", "/", "/api/v1", "/api/v1/"):
        found = UiClient(ui.url + tail, patience=HASTE).get("topology/summary")
        assert found["topologies"][0]["name"] == "demo"


@pytest.mark.parametrize("fault", [Fault(status=503), Fault(cut=True)], ids=["busy", "cut"])
def test_what_may_pass_is_asked_for_again(ui, fault):
    ui.faults.append(fault)
    assert client(ui).get("topology/summary") == document("topology-summary")
    assert len(ui.asked) == 2


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(body=PAGE), "an HTML page in place of a JSON object"),
        (Fault(body=b"[1, 2]"), "no JSON"),
        (Fault(body=b"{" * 50_000), "no JSON"),
        (Fault(body=b"\xff\xfe"), "no JSON"),
        (Fault(body=b""), "nothing in place of a JSON object"),
        (Fault(status=404, body=PAGE), "HTTP 404"),
        (Fault(status=401), "STREAMGAUGE_USER"),
        (Fault(endless=b" " * 50_000), "more than 100,000 bytes"),
        (Fault(status=302, headers={"Location": "http://elsewhere/"}), "http://elsewhere/"),
    ],
)
def test_what_will_not_pass_is_asked_for_once_and_named(ui, fault, words):
    ui.faults.append(fault)
    with pytest.raises(SourceUnreachable, match=words) as caught:
        client(ui).get("topology/summary")
    assert str(caught.value).startswith(f"{ui.url}: ")
    assert len(ui.asked) == 1


@pytest.mark.parametrize(
    "fault", [Fault(hang=True), Fault(endless=b" ")], ids=["silent", "dripping"]
)
def test_a_ui_that_never_comes_to_an_end_is_given_up(ui, fault):
    ui.faults.extend([fault] * 2)
    brief = Patience(timeout_seconds=0.2, attempts=2)
    with pytest.raises(SourceUnreachable, match=r"no whole answer within 0.2 s after 2 tries"):
        client(ui, brief).get("topology/summary")


def test_a_port_where_nobody_listens_is_unreachable():
    nobody = UiClient("http://127.0.0.1:9", patience=Patience(attempts=1))
    with pytest.raises(SourceUnreachable, match="refused after one try"):
        nobody.get("topology/summary")


def test_waits_between_tries_double(ui):
    waits = []
    ui.faults.extend([Fault(status=503)] * 3)
    asking = UiClient(
        ui.url, patience=Patience(attempts=4, first_wait_seconds=1.0), sleep=waits.append
    )
    asking.get("topology/summary")
    assert waits == [1.0, 2.0, 4.0]


def test_the_ui_s_own_words_are_kept_without_their_stack_trace(ui):
    with pytest.raises(Refused) as caught:
        client(ui).get("topology/nope-1-1")
    said = json.dumps(document("unknown-topology")["errorMessage"])
    assert (
        str(caught.value) == "java.io.IOException: Unable to fetch topo conf for topo id nope-1-1"
    )
    assert str(caught.value) in said


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://host", "no http or https"),
        ("host:8080", "no http or https"),
        ("http://", "no http or https"),
        ("http://host:99999", "http://host:99999"),
        ("http://host/?a=b", "behind"),
        ("http://ho st", "characters"),
    ],
)
def test_an_address_that_is_none_is_refused(url, words):
    with pytest.raises(InvalidInput, match=words):
        UiClient(url)


def test_a_password_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(InvalidInput) as caught:
        UiClient("http://ann:secret@host")
    assert "secret" not in str(caught.value)


def test_credentials_come_from_the_environment(ui, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_USER", "ann")
    monkeypatch.setenv("STREAMGAUGE_PASSWORD", "secret")
    UiClient(ui.url, headers=Credentials.usual().header()).get("topology/summary")
    assert ui.headers[0]["authorization"] == "Basic YW5uOnNlY3JldA=="
    monkeypatch.setenv("STREAMGAUGE_TOKEN", "abc")
    assert Credentials.usual().header() == {"Authorization": "Bearer abc"}
