"""``python -m benchmarks``: run every study and write one report."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from benchmarks.report import Entry, write_report

STUDIES = (
    "plans",
    "network",
    "semantics",
    "core_sharing",
    "prediction_speed",
    "prediction",
    "prediction_load",
    "pending_limit",
    "scheduling",
    "remote_traffic",
    "scaling",
    "planners",
    "pipeline",
    "pipeline_cluster",
    "agent_overhead",
)
# Measures figures that the package has built in, once for each version of an engine.
ON_REQUEST = ("engine_costs",)


def main() -> None:
    """Run, print the ratios, write the report."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("build/bench.json"))
    parser.add_argument("--only", choices=sorted([*STUDIES, *ON_REQUEST]), help="just this study")
    parser.add_argument("--large", action="store_true", help="full size, without a time limit")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    entries: list[Entry] = []
    for name in [arguments.only] if arguments.only else STUDIES:
        print(f"{name} …", file=sys.stderr)
        entries += importlib.import_module(f"benchmarks.{name}").run(large=arguments.large)
    write_report(arguments.output, entries, time.perf_counter() - begin)
    for entry in entries:
        print(f"{entry.name}: {entry.about}")
        for label, ratio in entry.ratios.items():
            print(f"  {ratio:12.4g}  {label}")
    print(f"wrote {arguments.output}", file=sys.stderr)


if __name__ == "__main__":
    main()
