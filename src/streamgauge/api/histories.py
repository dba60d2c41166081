"""What sources emitted over time: a file of rates, what a lake measured, or a profile's own series.

Each series is of one source, in tuples per second; a file with a single series that no source is
called after is of all sources together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.api.loading import TimeLike, microseconds_of, read_time
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.errors import Findings, InvalidInput, NotEnoughData, did_you_mean
from streamgauge.extras import require_extra

if TYPE_CHECKING:
    from streamgauge.lake.source_rates import RateQuestion, SourceRates
    from streamgauge.lake.tables import Lake
    from streamgauge.profile.figures import RateSeries
    from streamgauge.profile.profile import Profile
    from streamgauge.topology.topology import Topology
    from streamgauge.traffic.series import SeriesRows

# Seconds, or a text such as 1h.
LengthLike = float | str
# The name of the series that is of all sources together.
ALL_SOURCES = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What the sources of one topology emitted.

    Attributes:
        series: By source, or one of all sources together.
        origin: Where it was read.
        cautions: What a reader must not overlook.
    """

    series: Mapping[str, SeriesRows]
    origin: str
    cautions: tuple[str, ...] = ()

    def total(self) -> SeriesRows:
        """All sources together, at the times at which each of them has a value."""
        import numpy as np

        rows = list(self.series.values())
        if len(rows) == 1:
            return rows[0]
        times = rows[0].times_us
        for one in rows[1:]:
            times = np.intersect1d(times, one.times_us)
        values, masked = np.zeros(len(times)), np.zeros(len(times), dtype=bool)
        for one in rows:
            order = np.argsort(one.times_us, kind="stable")
            at = order[np.searchsorted(one.times_us[order], times)]
            values += one.values[at]
            masked |= one.masked[at]
        return rows[0]._replace(name="all sources", times_us=times, values=values, masked=masked)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPlace:
    """Where the history of a topology's sources is; the profile has it where neither is given.

    Attributes:
        series: A CSV file.
        lake: A lake that has measured them.
        topology: With a lake: what the topology is called there; as in the profile if not given.
    """

    series: str | Path | None = None
    lake: str | None = None
    topology: str | None = None

    @classmethod
    def choose(
        cls, series: str | Path | None, lake: str | None, topology: str | None
    ) -> HistoryPlace:
        """A file before a lake, whose profile may be meant alone."""
        return cls(series=series, lake=lake if series is None else None, topology=topology)

    def read(self, topology: Topology, profile: Profile | None, say: Say = stay_silent) -> History:
        """The history of the sources.

        Raises:
            NotEnoughData: There is none.
            InvalidInput: A series is of no source of the topology.
        """
        if self.series is not None:
            return _read_file(self.series, topology)
        if self.lake is not None:
            rows = read_lake(self.lake, self.topology or topology.name, say=say)
            name = f"{self.lake}, {self.topology or topology.name}"
            return History(series=_name_sources(rows, topology, name), origin=name)
        if profile is None:
            raise NotEnoughData(
                "nothing was measured of the sources: give --series FILE.csv, --lake DIR or a"
                " profile"
            )
        return read_profile_history(profile)


def read_profile_history(profile: Profile) -> History:
    """The series that a profile keeps of its sources; their streams are added up.

    Raises:
        NotEnoughData: It keeps none.
    """
    if not profile.sources:
        raise NotEnoughData(
            f"the profile of {profile.topology.name} keeps no rates of its sources over time: give"
            " --series FILE.csv or --lake DIR"
        )
    by_source: dict[str, list[RateSeries]] = {}
    for key, series in profile.sources.items():
        by_source.setdefault(key.source, []).append(series)
    cautions = []
    if profile.backpressure_minutes:
        cautions.append(
            f"The profile was taken with {profile.backpressure_minutes:g} min in back-pressure,"
            " which show what the job could take, not what came. A lake's history leaves them out."
        )
    return History(
        series={source: _add_streams(source, streams) for source, streams in by_source.items()},
        origin="the profile's own history",
        cautions=tuple(cautions),
    )


def _add_streams(source: str, streams: Sequence[RateSeries]) -> SeriesRows:
    """The rate of a source, unknown where that of any of its streams is."""
    import numpy as np

    from streamgauge.traffic.series import MICROSECONDS, SeriesRows

    totals: dict[int, float] = {}
    for series in streams:
        first = microseconds_of(read_time(series.start, "sources"))
        for at, rate in enumerate(series.per_second):
            time = first + round(at * series.step_seconds * MICROSECONDS)
            totals[time] = totals.get(time, 0.0) + (math.nan if rate is None else rate)
    return SeriesRows(
        source,
        np.array(list(totals), dtype=np.int64),
        np.array(list(totals.values()), dtype=np.float64),
        np.zeros(len(totals), dtype=bool),
    )


def _read_file(path: str | Path, topology: Topology) -> History:
    from streamgauge.traffic.series_files import read_series_file

    rows, name = read_series_file(path), Path(path).name
    sources = {operator.name for operator in topology.sources}
    own_names = {one.name.removeprefix(f"{topology.name}/") for one in rows}
    if len(rows) == 1 and not own_names & sources:
        return History(series={ALL_SOURCES: rows[0]}, origin=name)
    return History(series=_name_sources(rows, topology, name), origin=name)


def _name_sources(
    rows: Sequence[SeriesRows], topology: Topology, origin: str
) -> dict[str, SeriesRows]:
    """Series by the source that each is called after.

    Raises:
        InvalidInput: One is of no source, or a source has none.
    """
    known = [operator.name for operator in topology.sources]
    found: dict[str, SeriesRows] = {}
    findings = Findings()
    for one in rows:
        name = one.name.removeprefix(f"{topology.name}/")
        if name not in known:
            findings.add(
                "series",
                seen=f"{origin}: a series {one.name!r}",
                expected=f"a source of {topology.name}: {', '.join(known)}",
                remedy=did_you_mean(name, known),
            )
        found[name] = one
    missing = [name for name in known if name not in found]
    if missing and not findings:
        findings.add(
            "series",
            seen=f"{origin}: no series of {', '.join(missing)}",
            expected="one of each source, or a single one of all together",
        )
    findings.raise_if_any()
    return found


def read_lake(
    uri: str,
    topology: str | None,
    *,
    step_seconds: float | None = None,
    history_seconds: float | None = None,
    by: str = "source",
    start: TimeLike | None = None,
    end: TimeLike | None = None,
    say: Say = stay_silent,
) -> list[SeriesRows]:
    """The source rates of one topology, or of all of a lake.

    Args:
        uri: The lake.
        topology: Whose sources; of all topologies where none is named, each named by its own.
        step_seconds: Length of a window.
        history_seconds: How much of the past may count, where only its end is given.
        by: A series for each ``source``, ``stream`` or ``task``.
        start: First time to take into account.
        end: Time to stop before.
        say: Takes what was left out.
    """
    with require_extra("lake"):
        from streamgauge.lake.contents import topologies_of
        from streamgauge.lake.source_rates import RateQuestion, SplitBy
        from streamgauge.lake.tables import Lake, readable
    if by not in list(SplitBy):
        raise InvalidInput.single(("by",), seen=repr(by), expected=f"one of {', '.join(SplitBy)}")
    last = None if end is None else read_time(end, "to")
    first = None if start is None else read_time(start, "from")
    if first is None and last is not None and history_seconds is not None:
        first = last - timedelta(seconds=history_seconds)
    source = Lake(uri)
    source.check_exists()
    with readable(source.uri):
        if topology is not None:
            jobs: Iterable[tuple[str | None, str]] = [(None, topology)]
        else:
            held = topologies_of(source)[1]
            jobs = sorted(((one.cluster, one.topology) for one in held), key=_by_name)
        questions = [
            RateQuestion(
                topology=name,
                cluster=cluster,
                by=SplitBy(by),
                start=first,
                end=last,
                window_seconds=step_seconds,
            )
            for cluster, name in jobs
        ]
        return _ask_all(source, questions, topology is None, say)


def _by_name(job: tuple[str | None, str]) -> tuple[str, str]:
    return job[0] or "", job[1]


def _ask_all(
    lake: Lake, questions: Sequence[RateQuestion], named: bool, say: Say
) -> list[SeriesRows]:
    """Rates of all topologies; those without sources are told and left out."""
    from streamgauge.lake.source_rates import source_rates

    found: list[SeriesRows] = []
    for question in questions:
        try:
            rates = source_rates(lake, question)
        except NotEnoughData as error:
            if not named:
                raise
            say(f"left out: {error}")
            continue
        prefix = ""
        if named:
            cluster = "" if question.cluster is None else f"{question.cluster}/"
            prefix = f"{cluster}{question.topology}/"
        found += [_take_rates(f"{prefix}{one.name}", one) for one in rates]
    return found


def _take_rates(name: str, rates: SourceRates) -> SeriesRows:
    import numpy as np

    from streamgauge.traffic.series import SeriesRows

    return SeriesRows(
        name,
        np.array([microseconds_of(start) for start in rates.starts], dtype=np.int64),
        np.array(rates.per_second, dtype=np.float64),
        np.array(rates.pressed, dtype=bool),
    )


def read_length(length: LengthLike, place: str) -> float:
    """Seconds of a length of time.

    Raises:
        InvalidInput: It is none.
    """
    if not isinstance(length, str):
        return float(length)
    from streamgauge.lake.questions import read_length as parse

    try:
        return parse(length)
    except InvalidInput as error:
        (problem,) = error.problems
        raise InvalidInput.single((place,), seen=problem.seen, expected=problem.expected) from None
