"""``outlook --lake DIR --all``: every topology of a lake, those in trouble first."""

from __future__ import annotations

from streamgauge.api.histories import HistoryPlace, LengthLike
from streamgauge.api.intervals import choose_errors
from streamgauge.api.loading import choose_from_lake
from streamgauge.api.outlook import CHANCE, find_lead_time, look_ahead, read_wish
from streamgauge.api.predict import propose
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.errors import NotEnoughData, StreamgaugeError
from streamgauge.extras import require_extra
from streamgauge.models.outlook import OutlookWish
from streamgauge.reports.outlook import OutlookReport
from streamgauge.reports.outlook_fleet import FleetFailure, FleetReport


def outlook_all(
    lake: str,
    *,
    horizon: LengthLike = "24h",
    objective: str | None = None,
    chance: float = CHANCE,
    forecast_step: LengthLike | None = None,
    history: LengthLike | None = None,
    timezone: str | None = None,
    modelling: LengthLike | None = None,
    rescaling: LengthLike | None = None,
    say: Say = stay_silent,
) -> FleetReport:
    """The outlook of all topologies of a lake, each from its newest profile there.

    What is wrong with one topology does not stop the others. Arguments are as in `outlook`.

    Raises:
        NotEnoughData: No topology has an outlook.
        InvalidInput: There is no lake, or an argument is wrong.
    """
    wish = read_wish(
        horizon, objective, chance, forecast_step, history, timezone, modelling, rescaling
    )
    clusters = list_topologies(lake)
    found: dict[str, OutlookReport] = {}
    failures: list[FleetFailure] = []
    for name, where in clusters.items():
        say(f"looking at {name}")
        if len(where) > 1:
            # Their rates would be added up.
            listed = ", ".join(map(str, sorted(where, key=str)))
            failures.append(FleetFailure(name, f"runs in several clusters: {listed}"))
            continue
        try:
            found[name] = _look_at(lake, name, wish)
        except StreamgaugeError as error:
            failures.append(FleetFailure(name, str(error)))
        except Exception as error:  # one topology of hundreds must not hide the others' trouble
            failures.append(FleetFailure(name, f"internal error: {type(error).__name__}: {error}"))
    if not found:
        listed = "; ".join(f"{one.topology}: {one.reason}" for one in failures[:5])
        raise NotEnoughData(listed or f"{lake}: no topology; expected some that were measured")
    return FleetReport(lake=lake, wish=wish, outlooks=found, failures=tuple(failures))


def list_topologies(lake: str) -> dict[str, set[str | None]]:
    """The topologies of which a lake has anything, by name, and the clusters that they ran in."""
    with require_extra("lake"):
        from streamgauge.lake.contents import topologies_of
        from streamgauge.lake.profiles import stored_profiles
        from streamgauge.lake.tables import Lake, readable
    source = Lake(lake)
    source.check_exists()
    found: dict[str, set[str | None]] = {}
    with readable(source.uri):
        for one in topologies_of(source)[1]:
            found.setdefault(one.topology, set()).add(one.cluster)
    for profile in stored_profiles(source):
        # Profiles may be named by cluster and topology.
        found.setdefault(profile.name.rpartition("/")[2], set())
    return dict(sorted(found.items()))


def _look_at(lake: str, topology: str, wish: OutlookWish) -> OutlookReport:
    chosen = choose_from_lake(lake, topology=topology)
    place = HistoryPlace.choose(None, lake, topology)
    past = place.read(chosen.require_profile().topology, chosen.profile)
    proposal = propose(chosen, None, None)
    lead = find_lead_time(wish, lake, topology)
    return look_ahead(
        chosen,
        proposal,
        past,
        wish,
        lead,
        errors=choose_errors(None),
        warnings=chosen.warnings,
    )
