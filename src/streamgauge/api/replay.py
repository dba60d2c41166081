"""`sg.replay`: what jobs that share a cluster would have been worth under several policies."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from streamgauge.api.simulator import Say, stay_silent
from streamgauge.errors import InvalidInput, in_file
from streamgauge.extras import require_extra
from streamgauge.planning.sharing.course import Course
from streamgauge.planning.sharing.files.shared_cluster_file import load_shared_cluster
from streamgauge.planning.sharing.policy import load_policy, policy_names
from streamgauge.planning.sharing.shared_cluster import SharedCluster
from streamgauge.reports.replay import ReplayReport

ALL = "all"
MOST_SEEDS = 1000


def replay(
    cluster: str | Path | SharedCluster,
    policies: str | Iterable[str] | None = None,
    *,
    seeds: int = 10,
    processes: int | None = None,
    rows: str | Path | None = None,
    say: Say = stay_silent,
) -> ReplayReport:
    """The same traffic on the same cluster under each policy.

    Args:
        cluster: A file that says which jobs share which machines, what each is to reach and what
            comes to it; or such a cluster.
        policies: Names, with commas between them, or ``all``. Settings stand after a name:
            ``henge,hpa:target=0.5,hpa:target=0.9``. If not given, those that the file names, or
            all.
        seeds: In how many worlds: each has other service times and other noise.
        processes: How many worlds at once; as many as there are cores when not given.
        rows: A Parquet file to write, with a row for every policy, world, step and job.
        say: Gets progress messages.

    Raises:
        InvalidInput: The file is wrong, or there is no such policy.
        MissingExtra: Rows are to be written, and the package that writes them is not installed.
    """
    names = None if policies is None else _choose(policies)
    if not 1 <= seeds <= MOST_SEEDS:
        raise InvalidInput.single(("--seeds",), seen=f"{seeds}", expected=f"1 to {MOST_SEEDS}")
    shared = cluster if isinstance(cluster, SharedCluster) else load_shared_cluster(cluster)
    chosen = names or shared.policies or policy_names()
    if rows is not None:
        # Known before anything is computed.
        with require_extra("lake"):
            importlib.import_module("pyarrow")
    courses: list[Course] = []
    with in_file("" if isinstance(cluster, SharedCluster) else str(cluster)):
        # Faults of the file show up before any process starts.
        shared.as_fluids()
        with ProcessPoolExecutor(max_workers=processes) as pool:
            worlds = [pool.submit(_replay, shared, chosen, seed + 1) for seed in range(seeds)]
            try:
                for done, world in enumerate(worlds, start=1):
                    courses += world.result()
                    say(f"world {done} of {seeds}")
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    if rows is not None:
        _write_rows(courses, Path(rows))
        say(f"wrote {rows}")
    return ReplayReport(cluster=shared, courses=tuple(courses))


def _write_rows(courses: Iterable[Course], path: Path) -> None:
    """A whole file or none."""
    from streamgauge.api.replay_rows import write_rows

    part = path.with_name(f"{path.name}.part")
    write_rows(courses, part)
    part.replace(path)


def _replay(shared: SharedCluster, names: tuple[str, ...], seed: int) -> list[Course]:
    return shared.replay([load_policy(name) for name in names], seed)


def _choose(policies: str | Iterable[str]) -> tuple[str, ...]:
    if policies == ALL:
        return policy_names()
    listed = policies.split(",") if isinstance(policies, str) else list(policies)
    names = tuple(dict.fromkeys(one.strip() for one in listed if one.strip()))
    if not names:
        raise InvalidInput.single(
            ("--policies",), seen="none", expected=f"all, or some of {', '.join(policy_names())}"
        )
    for name in names:
        load_policy(name)
    return names
