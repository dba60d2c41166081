"""Sweeps: evaluations a second of the cost model as arrays, one after the other, and on Spark.

Random plans of a job of four operators on up to eight nodes. A plain loop evaluates one plan at a
time by the same functions; the arrays hold a hundred thousand. The analytic model takes one plan at
a time in either case, so that only Spark's cores help it. Evaluations count by CPU second of all
processes, which is what a core does in a second whatever else the machine does; how loaded it was
stands beside.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.processes import Stopwatch
from benchmarks.report import Entry, say
from streamgauge.api.spark import SparkOptions, open_session
from streamgauge.api.sweep import load_job
from streamgauge.api.sweep_rows import SCHEMA, evaluate_block
from streamgauge.pipeline.sweeps import evaluate_blocks
from streamgauge.planning.sweeping.files.sweep_file import load_sweep
from streamgauge.planning.sweeping.sweep import COST, Block, Sweep

# Some are drawn twice, and evaluated once.
EVALUATIONS, MANY_EVALUATIONS = 100_000, 1_100_000
PREDICTIONS, MANY_PREDICTIONS = 200, 10_000
LOOPED = 300
SWEEP = """
streamgauge: 1
sweep: benchmark
job: job.yaml
plans:
  random:
    count: {count}
    nodes: [1, 8]
    executors: {{in: [1, 16], parse: [1, 32], count: [1, 32], store: [1, 16]}}
    workers: [1, 4]
rates: [20000]
models: [{model}]
node: {{cores: 8, network_gbit_per_second: 10, latency_ms: 0.2}}
"""
JOB = """
streamgauge: 1
topology:
  name: line
  operators:
    {in: {kind: source, tasks: 16}, parse: {tasks: 32}, count: {tasks: 32}, store: {tasks: 16}}
  streams:
    - {from: in, to: parse, grouping: shuffle}
    - {from: parse, to: count, grouping: {fields: [key]}}
    - {from: count, to: store, grouping: shuffle}
behaviours:
  in: {service: {cpu_ms: 0.002}, bytes: {default: 200}}
  parse: {service: {cpu_ms: 0.02}, outputs: {default: 2}, bytes: {default: 60}}
  count: {service: {cpu_ms: 0.01}, outputs: {default: 0.1}, bytes: {default: 40}}
  store: {service: {cpu_ms: 0.05}}
workload: [{source: in, per_second: 20000}]
"""


def run(*, large: bool) -> list[Entry]:
    """The cost model, then the analytic model."""
    cores = os.cpu_count() or 1
    entry = Entry("sweeps", "evaluations of plans by CPU second")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "job.yaml").write_text(JOB)
        many = MANY_EVALUATIONS if large else EVALUATIONS
        arrays = _load(Path(folder), COST, many)
        loop = _measure(entry, "cost model, plain loop", arrays, LOOPED, alone=True)
        block = _measure(entry, "cost model, arrays", arrays, len(arrays.plans))
        spark = _measure_spark(entry, f"cost model, Spark on {cores} cores", arrays)
        entry.ratios["arrays to a plain loop, a core"] = block / loop
        entry.ratios["Spark to arrays, a core"] = spark / block
        slow = _load(Path(folder), "analytic", MANY_PREDICTIONS if large else PREDICTIONS)
        alone = _measure(entry, "analytic model, one process", slow, PREDICTIONS)
        spread = _measure_spark(entry, f"analytic model, Spark on {cores} cores", slow)
        entry.ratios["analytic: Spark to one process, a core"] = spread / alone
    entry.ratios.update(
        {f"{name}, by CPU second": case["per_cpu_second"] for name, case in entry.cases.items()}
    )
    return [entry]


def _load(folder: Path, model: str, count: int) -> Sweep:
    path = folder / "sweep.yaml"
    path.write_text(SWEEP.format(model=model, count=count))
    return load_sweep(path, load_job)


def _measure(entry: Entry, name: str, sweep: Sweep, cases: int, *, alone: bool = False) -> float:
    """Evaluations by CPU second in this process; each for itself, or as blocks of the sweep."""
    blocks = [block for block in sweep.blocks() if block.start < cases]
    if alone:
        first = blocks[0]
        blocks = [first._replace(start=case, stop=case + 1) for case in range(cases)]
    return _time(entry, name, blocks, partial(_evaluate_all, sweep, blocks))


def _evaluate_all(sweep: Sweep, blocks: list[Block]) -> None:
    for block in blocks:
        evaluate_block(sweep, block)


def _measure_spark(entry: Entry, name: str, sweep: Sweep) -> float:
    """The same on Spark, whose start is not counted."""
    blocks = {block.number: block for block in sweep.blocks()}

    def evaluate(number: int) -> object:
        return evaluate_block(sweep, blocks[number])

    with open_session("benchmark", SparkOptions()) as session:
        first = list(blocks)[:1]
        list(evaluate_blocks(session, first, evaluate, SCHEMA))

        def work() -> None:
            for _ in evaluate_blocks(session, list(blocks), evaluate, SCHEMA):
                pass

        return _time(entry, name, list(blocks.values()), work)


def _time(entry: Entry, name: str, blocks: list[Block], work: Callable[[], None]) -> float:
    """Once: these are minutes, and what they are divided by is large."""
    watch = Stopwatch()
    work()
    used = watch.read()
    cases = sum(block.stop - block.start for block in blocks)
    by_cpu = cases / used["cpu_seconds"]
    entry.cases[name] = {
        **used,
        "evaluations": cases,
        "per_second": cases / used["seconds"],
        "per_cpu_second": by_cpu,
        "threads that wanted a core": os.getloadavg()[0],
    }
    say(f"{name}: {cases:,} in {used['seconds']:.1f} s, {used['cpu_seconds']:.1f} CPU s")
    return by_cpu
