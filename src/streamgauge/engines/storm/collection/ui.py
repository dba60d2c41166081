"""The UI of a Storm cluster as a source of what it runs, asked by its REST service.

One question at a time, and never for long. Only the given host is asked: a redirect is an error,
not an instruction. Proxies are not used.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote, urlencode

from streamgauge.engines.storm.collection.snapshot import (
    UNKNOWN_FIELD,
    Component,
    Host,
    ListedTopology,
    TopologySnapshot,
    Vanished,
    engine_of,
    note_custom_groupings,
    number,
)
from streamgauge.engines.storm.collection.ui_documents import (
    RESOLUTION_MS,
    ComponentPage,
    Document,
    component_page,
    components,
    hosts,
    listed_topologies,
    streams,
)
from streamgauge.errors import SourceUnreachable
from streamgauge.lake.http import (
    Answer,
    Patience,
    Request,
    Sleep,
    TooLarge,
    TryAgain,
    fetch,
    server_url,
    unreachable,
)
from streamgauge.topology.field_checks import format_value
from streamgauge.topology.grouping import Fields
from streamgauge.topology.topology import ACKER, Stream

_ALL_TIME: Final = ":all-time"
_TEN_MINUTES: Final = "600"
# Until then the differences of means since the start are finer than the means of ten minutes,
# and free of what was measured while the worker warmed up.
_YOUNG_SECONDS: Final = 1200
_PREFIX: Final = "/api/v1"
_SHOWN_MESSAGE: Final = 300
_WRONG_ADDRESS: Final = "check that this is the address of a Storm UI"
_NO_ANSWER: Final = "check the address, and that the UI is up"

USUAL_PATIENCE: Final = Patience(
    timeout_seconds=30.0, attempts=3, first_wait_seconds=1.0, most_bytes=32 * 2**20
)


class Refused(Exception):
    """The UI answers, but says that it cannot do what is asked; its own words."""


class UiClient:
    """The REST service at an address.

    Args:
        url: Of the UI, with or without ``/api/v1``.
        headers: Beside the usual ones, such as credentials.
        patience: How long and how often to ask.
        sleep: How to wait between tries.

    Raises:
        InvalidInput: It is no http or https address, or holds more than that.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        patience: Patience = USUAL_PATIENCE,
        sleep: Sleep = time.sleep,
    ) -> None:
        self.url = server_url(url, "ui").removesuffix(_PREFIX)
        self._headers = {"Accept": "application/json", **(headers or {})}
        self._patience = patience
        self._sleep = sleep

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """The object that the service answers with.

        Raises:
            SourceUnreachable: No whole answer, whatever was tried, or one that makes no sense.
            Refused: An error that the UI reports itself, with its own words, at every try.
        """
        request = Request(
            url=f"{self.url}{_PREFIX}/{path}" + (f"?{urlencode(query)}" if query else ""),
            server=self.url,
            headers=self._headers,
            when_down=_NO_ANSWER,
            when_slow=_NO_ANSWER,
        )
        try:
            return fetch(request, self._read, self._patience, self._sleep)
        except TooLarge:
            what = f"an answer of more than {self._patience.most_bytes:,} bytes"
            raise self._wrong(what) from None

    def _read(self, answer: Answer) -> dict[str, Any]:
        """The JSON object in an answer, if the service answered at all."""
        with answer.body as file:
            body = file.read()
        document: object = None
        with suppress(ValueError, RecursionError):
            document = json.loads(body)
        if answer.may_pass:
            message = _message(document)
            error = Refused(message) if message else None
            raise TryAgain(answer.described, _NO_ANSWER, error=error)
        if answer.needs_credentials:
            remedy = "set STREAMGAUGE_USER and STREAMGAUGE_PASSWORD, or STREAMGAUGE_TOKEN"
            raise unreachable(self.url, answer.described, remedy)
        if not answer.is_ok:
            location = answer.headers.get("Location")
            leads = f", which leads to {format_value(location)}" if location else ""
            raise self._wrong(f"{answer.described}{leads}")
        if not isinstance(document, dict):
            raise self._wrong(f"{_kind_of(body)} in place of a JSON object")
        return document

    def _wrong(self, what: str) -> SourceUnreachable:
        return unreachable(self.url, what, _WRONG_ADDRESS)


class UiSource:
    """Asks the UI by its REST service."""

    def __init__(self, client: UiClient) -> None:
        self._client = client
        # A topology keeps its streams for life.
        self._visualizations: dict[str, Document] = {}

    @property
    def name(self) -> str:
        """The address."""
        return self._client.url

    def topologies(self) -> tuple[ListedTopology, ...]:
        """What runs now."""
        return listed_topologies(self._get("topology/summary"))

    def hosts(self) -> tuple[Host, ...]:
        """The supervisors."""
        return hosts(self._get("supervisor/summary"))

    def take_snapshot(self, listed: ListedTopology) -> TopologySnapshot:
        """Structure, places and counters of a topology."""
        try:
            return self._take_snapshot(listed)
        except Refused as refusal:
            # The UI has the same status for a topology that is gone and for all other trouble.
            if all(one.id != listed.id for one in self.topologies()):
                raise Vanished(listed.name) from None
            raise self._failed(refusal) from None

    def _take_snapshot(self, listed: ListedTopology) -> TopologySnapshot:
        path = f"topology/{quote(listed.id, safe='')}"
        document = self._client.get(path, sys="true")
        known = components(document)
        if listed.id not in self._visualizations:
            self._visualizations[listed.id] = self._client.get(f"{path}/visualization")
        tasks = {one.name: one.tasks for one in known if one.name != ACKER}
        connections = streams(self._visualizations[listed.id], tasks)
        pages = {one.name: self._component(path, one) for one in known}
        configuration = document.get("configuration")
        return TopologySnapshot(
            listed=listed,
            engine=engine_of(str(document.get("stormVersion") or "")),
            components=known,
            streams=connections,
            workers=max(int(number(document.get("workersTotal")) or 1), 1),
            configuration=configuration if isinstance(configuration, dict) else {},
            resolution_ms=RESOLUTION_MS,
            executors=tuple(seen for one in pages.values() for seen in one.executors),
            parts={name: one.parts for name, one in pages.items()},
            notes=_notes(connections),
        )

    def _component(self, path: str, component: Component) -> ComponentPage:
        target = f"{path}/component/{quote(component.name, safe='')}"
        own = {"sys": "true"} if component.name == ACKER else {}
        document = self._client.get(target, window=_ALL_TIME, **own)
        page = component_page(document)
        if all((one.uptime_seconds or 0) <= _YOUNG_SECONDS for one in page.executors):
            return page
        return component_page(document, self._client.get(target, window=_TEN_MINUTES, **own))

    def _get(self, path: str) -> Document:
        try:
            return self._client.get(path)
        except Refused as refusal:
            raise self._failed(refusal) from None

    def _failed(self, refusal: Refused) -> SourceUnreachable:
        remedy = "look into the UI's log, and whether nimbus is up"
        return SourceUnreachable(f"{self.name}: the UI says {str(refusal)!r}; {remedy}")


def _message(document: object) -> str:
    """The UI's own words, without the stack trace behind them."""
    if not isinstance(document, dict):
        return ""
    lines = str(document.get("errorMessage") or document.get("error") or "").splitlines()
    return lines[0].strip()[:_SHOWN_MESSAGE] if lines else ""


def _kind_of(body: bytes) -> str:
    start = body[:65_536].lstrip()[:15].lower()
    if start.startswith((b"<!doctype", b"<html")):
        return "an HTML page"
    return f"{len(body):,} bytes that are no JSON" if body else "nothing"


def _notes(connections: tuple[Stream, ...]) -> tuple[str, ...]:
    keyed = [str(one.key) for one in connections if one.grouping == Fields(keys=(UNKNOWN_FIELD,))]
    unknown = "the UI does not say by which fields; a global grouping looks the same"
    notes = (f"{', '.join(keyed)}: {unknown}",) if keyed else ()
    return notes + note_custom_groupings(connections)
