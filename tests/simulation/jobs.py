"""Jobs for the simulator's tests, and how to run them."""

from dataclasses import replace

from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.topology_run import simulate
from streamgauge.transport.engine import load_engine

# Threads that notice work at once and burn nothing while they wait.
QUIET = {
    "bolt_spin": 0.0,
    "bolt_sleep": 0.0,
    "source_sleep": 0.0,
    "transfer_sleep": 0.0,
    "sleep_jitter": 0.0,
    "poll_cores": 0.0,
}

# A source, some servers, one more server.
LINE = """
streamgauge: 1
topology:
  name: t
  acked: {acked}
  operators: {{s: {{kind: source, tasks: {sources}}}, a: {{tasks: {tasks}}}, b: {{tasks: 1}}}}
  streams: [{{from: s, to: a, grouping: {grouping}}}, {{from: a, to: b, grouping: global}}]
behaviours:
  s: {{{source}}}
  a: {{service: {{{service}}}, outputs: {{default: {outputs}}}}}
  b: {{service: {{wait_ms: {{exponential: 5}}}}}}
configuration:
  executors: {{s: {sources}, a: {tasks}}}
  workers: {workers}
  settings: {{topology.disable.loadaware.messaging: true{settings}}}
cluster: {{uniform: {{nodes: {workers}, cores: {cores}, latency_ms: {latency}}}}}
workload: [{{source: s, {emission}}}]
"""
DEFAULTS = {
    "acked": "false",
    "sources": 1,
    "tasks": 1,
    "grouping": "shuffle",
    "source": "",
    "service": "wait_ms: {exponential: 10}",
    "outputs": 1,
    "workers": 1,
    "settings": "",
    "cores": 4,
    "latency": 0,
    "emission": "per_second: 60",
}


def run_text(text, *, seconds, warmup=0.0, seed=1, tracing=None, **changes):
    """Simulate a job; `changes` are figures of the transport, quiet unless said otherwise."""
    job = parse_job(text)
    plan = place_job(job).plan
    return run_plan(
        plan, job, seconds=seconds, warmup=warmup, seed=seed, tracing=tracing, **changes
    )


def run_plan(plan, job, *, seconds, warmup=0.0, seed=1, tracing=None, **changes):
    """The same for a plan that was made before."""
    configuration = plan.logical.configuration
    mechanics = load_engine(configuration.engine).mechanics(configuration.settings)
    return simulate(
        plan,
        job.behaviours,
        job.workload,
        seconds=seconds,
        warmup=warmup,
        seed=seed,
        mechanics=replace(mechanics, **{**QUIET, **changes}),
        tracing=tracing,
    )
