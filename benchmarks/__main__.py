"""``python -m benchmarks``: run every study and write one report.

The report is written whenever a part of a study is done. A run that was stopped can be resumed.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from benchmarks.report import Entry, read_report, say, write_report

STUDIES = (
    "plans",
    "network",
    "semantics",
    "core_sharing",
    "prediction_speed",
    "prediction",
    "prediction_load",
    "prediction_cells",
    "random_jobs",
    "coverage",
    "pending_limit",
    "saturation",
    "scheduling",
    "remote_traffic",
    "scaling",
    "packing",
    "planners",
    "recommend",
    "sharing",
    "fluid",
    "recorded_autoscalers",
    "pipeline",
    "pipeline_cluster",
    "agent_overhead",
    "traffic",
    "traffic_fleet",
    "sweeps",
)
# Measures figures that the package has built in, once for each version of an engine.
ON_REQUEST = ("engine_costs", "management")


def main() -> None:
    """Run, print the ratios, write the report."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("build/bench.json"))
    known = (*STUDIES, *ON_REQUEST)
    parser.add_argument(
        "--only", metavar="STUDY", help=f"just this study ({', '.join(known)}), or a part of one"
    )
    parser.add_argument("--large", action="store_true", help="full size, without a time limit")
    parser.add_argument(
        "--resume", action="store_true", help="keep the parts that the report has, run the others"
    )
    arguments = parser.parse_args()
    only, large, output = arguments.only, arguments.large, arguments.output
    studies = STUDIES if only is None else [only.partition(" ")[0]]
    if unknown := set(studies) - set(known):
        parser.error(f"--only {unknown.pop()!r}: expected one of {', '.join(known)}")
    # Work apart ends with this process, also where that is asked to end.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    begin = time.perf_counter()
    done = {one.name: one for one in read_report(output, large=large)} if arguments.resume else {}
    for study in studies:
        print(f"{study} …", file=sys.stderr)
        for entry in measure_study(study, only, done, large=large):
            done[entry.name] = entry
            write_report(output, list(done.values()), time.perf_counter() - begin, large=large)
            print(f"{entry.name}: {entry.about}")
            for label, ratio in entry.ratios.items():
                print(f"  {ratio:12.4g}  {label}", flush=True)
    print(f"wrote {output}", file=sys.stderr)


def measure_study(
    study: str, only: str | None, done: Mapping[str, Entry], *, large: bool
) -> Iterator[Entry]:
    """The entries of a study, one after the other as they are measured.

    Args:
        study: Its module.
        only: The study, or one of its parts; all where none is named.
        done: Entries by name. Parts of a study that has `PARTS` are not measured again.
        large: Whether at full size.

    Raises:
        SystemExit: The study has no such part.
    """
    module = importlib.import_module(f"benchmarks.{study}")
    parts = getattr(module, "PARTS", None)
    if parts is None:
        yield from module.run(large=large)
        return
    if only not in (None, study, *parts):
        raise SystemExit(f"--only {only!r}: expected {study!r} or {_listed(parts)}")
    for name in parts:
        if only not in (None, study, name):
            continue
        if name in done:
            say(f"{name}: kept")
            continue
        yield parts[name](done, large=large)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


if __name__ == "__main__":
    main()
