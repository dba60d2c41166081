"""The page behind ``streamgauge simulate --html``: what a tired reader needs first comes first."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.cli import html_page as html
from streamgauge.cli import simulation_tables as tables
from streamgauge.cli.output import counted
from streamgauge.cli.simulation_charts import latency_picture, time_pictures, topology_picture
from streamgauge.cli.simulation_verdict import verdict
from streamgauge.drawing.quantities import duration_within, number, number_within, plain_duration

if TYPE_CHECKING:
    from streamgauge.profile.job import Job
    from streamgauge.simulation.results import SimulationResult
    from streamgauge.topology.tuple_flow import TupleFlow

ANCHORS = {
    "latency": "Latency",
    "topology": "Topology and utilisation",
    "time": "How it went over time",
    "figures": "All figures",
    "made": "How this was made",
}


def simulation_page(
    job: Job, flow: TupleFlow, result: SimulationResult, *, seed: int, command: str
) -> str:
    """One self-contained HTML document; the same arguments give the same page.

    Args:
        job: What was simulated.
        flow: Its plan with its connections.
        result: What was found.
        seed: Of the random numbers.
        command: How to make this page again.
    """
    found = verdict(job, result)
    links = "".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in ANCHORS.items())
    return html.page(
        f"{found.word}: {job.topology.name}, simulated",
        f"<h1>{html.text(job.topology.name)}, simulated</h1>",
        f'<p class="about">{html.text(_about(job, flow))}</p>',
        f'<div class="verdict {found.grade}">',
        f"<p><strong>{found.word}:</strong> {html.text(found.reason)}.</p>",
        html.terms(_headline(job, result)),
        *(html.paragraph(caution) for caution in found.cautions),
        "</div>",
        f'<nav aria-label="Parts of this page">{links}</nav>',
        _section("latency", latency_picture(result.latency), tables.latency_table(job, result)),
        _section("topology", topology_picture(flow, result)),
        _section("time", time_pictures(result)),
        _section(
            "figures",
            tables.operator_table(job, result),
            tables.rare_table(result),
            tables.executor_table(job, result),
            tables.queue_table(result),
            tables.worker_table(result),
            tables.machine_table(result),
        ),
        _section("made", *_made(job, result, seed=seed, command=command)),
    )


def _section(anchor: str, *parts: str) -> str:
    return html.section(anchor, ANCHORS[anchor], *parts)


def _about(job: Job, flow: TupleFlow) -> str:
    plan = flow.plan
    acked = "acked" if job.topology.acked else "not acked"
    return (
        f"{job.configuration.engine}, {acked}, "
        f"{counted(len(plan.logical.executors), 'executor')} in "
        f"{counted(len(plan.workers), 'worker')} on {counted(len(plan.nodes), 'node')}"
    )


def _headline(job: Job, result: SimulationResult) -> list[tuple[str, str]]:
    latency = result.latency
    mean, median, tail = (
        latency.mean_estimate(),
        latency.quantile_estimate(0.5),
        latency.quantile_estimate(0.99),
    )
    served = sum(result.operators[op.name].executed_per_second for op in job.topology.sinks)
    sample = f"{latency.count:,} tuples in {plain_duration(result.seconds, 4)}"
    return [
        ("sources emit", f"{_emitted(job, result)} tuples/s"),
        ("sinks serve", f"{number(served)} tuples/s"),
        ("mean latency", duration_within(mean.mean, mean.half_width)),
        ("median latency", duration_within(median.mean, median.half_width)),
        ("99th percentile", duration_within(tail.mean, tail.half_width)),
        ("sample", sample),
    ]


def _emitted(job: Job, result: SimulationResult) -> str:
    """Tuples per second that sources emitted, with an interval where the run was even."""
    from streamgauge.simulation.estimates import estimate
    from streamgauge.simulation.figures import BATCHES

    total = sum(result.operators[op.name].emitted_per_second for op in job.topology.sources)
    line = result.timeline
    measured = line.emitted_per_second[line.ends > result.warmup * (1.0 + 1e-9)]
    if result.overloaded or len(measured) < 2:
        return number(total)
    parts = np.array_split(measured, min(BATCHES, len(measured)))
    half_width = estimate([float(part.mean()) for part in parts]).half_width
    return number_within(total, half_width)


def _made(job: Job, result: SimulationResult, *, seed: int, command: str) -> list[str]:
    pairs = [
        ("simulated", plain_duration(result.seconds)),
        ("warm-up, left out before", plain_duration(result.warmup)),
        ("seed", str(seed)),
        ("deliveries simulated after the warm-up", f"{result.hops:,}"),
        ("streamgauge", _version()),
    ]
    if job.topology.acked:
        pairs += [
            ("tuple trees begun, warm-up included", f"{result.roots_emitted:,}"),
            ("complete", f"{result.roots_acked:,}"),
            ("failed or out of time", f"{result.roots_failed:,}"),
            ("open at the end", f"{result.open_roots:,}"),
        ]
    return [
        f"<p><code>{html.text(command)}</code></p>",
        html.terms(pairs, kind="made"),
        html.paragraph(
            "The same command with the same seed gives the same figures. What is simulated, "
            "what is assumed and how far it can be trusted: docs/simulator.md."
        ),
    ]


def _version() -> str:
    try:
        return version("streamgauge")
    except PackageNotFoundError:
        from streamgauge import __version__

        return __version__
