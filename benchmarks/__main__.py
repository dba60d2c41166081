"""``python -m benchmarks``: run every benchmark and write one report."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks import (
    agent_overhead,
    analytic,
    executor,
    network,
    pipeline,
    planners,
    plans,
    prediction,
    prediction_load,
    prediction_speed,
    remote_traffic,
    scaling,
    scheduling,
    semantics,
    stretch,
)
from benchmarks.report import Entry, write_report

MODULES = (
    plans,
    executor,
    network,
    semantics,
    analytic,
    stretch,
    prediction_speed,
    prediction,
    prediction_load,
    scheduling,
    remote_traffic,
    scaling,
    planners,
    pipeline,
    agent_overhead,
)


def main() -> None:
    """Run, print the ratios, write the report."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("build/bench.json"))
    named = {module.__name__.rpartition(".")[2]: module for module in MODULES}
    parser.add_argument("--only", choices=sorted(named), help="just this one")
    parser.add_argument("--large", action="store_true", help="full size, without a time limit")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    entries: list[Entry] = []
    for module in MODULES if arguments.only is None else (named[arguments.only],):
        print(f"{module.__name__} …", file=sys.stderr)
        entries += module.run(large=arguments.large)
    write_report(arguments.output, entries, time.perf_counter() - begin)
    for entry in entries:
        print(f"{entry.name}: {entry.about}")
        for name, ratio in entry.ratios.items():
            print(f"  {ratio:12.4g}  {name}")
    print(f"wrote {arguments.output}", file=sys.stderr)


if __name__ == "__main__":
    main()
