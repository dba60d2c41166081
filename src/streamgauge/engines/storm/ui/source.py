"""The UI of a Storm cluster as a source of what it runs."""

from __future__ import annotations

from urllib.parse import quote

from streamgauge.engines.storm.collection.snapshot import (
    Component,
    Host,
    ListedTopology,
    TopologySnapshot,
    Vanished,
)
from streamgauge.engines.storm.groupings import UNKNOWN_FIELD
from streamgauge.engines.storm.ui.client import Refused, UiClient
from streamgauge.engines.storm.ui.documents import (
    RESOLUTION_MS,
    ComponentPage,
    Document,
    component_page,
    hosts,
    listed_topologies,
    streams,
    topology_page,
)
from streamgauge.errors import SourceUnreachable
from streamgauge.topology.grouping import Custom, Fields
from streamgauge.topology.topology import ACKER, Stream

_ALL_TIME = ":all-time"
_TEN_MINUTES = "600"
# Until then the differences of means since the start are finer than the means of ten minutes,
# and free of what was measured while the worker warmed up.
_YOUNG_SECONDS = 1200


class UiSource:
    """Asks the UI.

    Args:
        client: Of its REST service.
    """

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
        page = topology_page(self._client.get(path, sys="true"))
        tasks = {one.name: one.tasks for one in page.components if one.name != ACKER}
        if listed.id not in self._visualizations:
            self._visualizations[listed.id] = self._client.get(f"{path}/visualization")
        connections = streams(self._visualizations[listed.id], tasks)
        pages = {one.name: self._component(path, one) for one in page.components}
        return TopologySnapshot(
            listed=listed,
            engine=page.engine,
            components=page.components,
            streams=connections,
            workers=page.workers,
            settings=page.settings,
            sampling=page.sampling,
            heartbeat_seconds=page.heartbeat_seconds,
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


def _notes(connections: tuple[Stream, ...]) -> tuple[str, ...]:
    keyed = [str(one.key) for one in connections if one.grouping == Fields(keys=(UNKNOWN_FIELD,))]
    custom = [str(one.key) for one in connections if isinstance(one.grouping, Custom)]
    notes = []
    if keyed:
        notes.append(
            f"{', '.join(keyed)}: the UI does not say by which fields; a global grouping looks"
            " the same"
        )
    if custom:
        notes.append(f"{', '.join(custom)}: a custom grouping, assumed to spread tuples evenly")
    return tuple(notes)
