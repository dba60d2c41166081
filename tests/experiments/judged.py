"""A small experiment on the emulator that is judged, with profiles that need no Spark."""

from dataclasses import replace
from pathlib import Path

from streamgauge.engines.emulator.session import EmulatorRunner
from streamgauge.experiments.controller import run_experiment
from streamgauge.experiments.files.experiment_file import load_experiment
from streamgauge.experiments.journal import read_journal
from streamgauge.experiments.judge_folder import JudgeFolder
from streamgauge.profile.files.jobs import profile_to_json
from tests.described_profiles import described_profile
from tests.experiments.small import write_experiment

# Two executors of 2 ms each serve 1,000 tuples a second, one serves 500; keys are uneven.
JOB = """\
streamgauge: 1
topology:
  name: judged
  acked: true
  operators: {in: {kind: source, tasks: 2}, work: {tasks: 2}, out: {}}
  streams:
    - {from: in, to: work, grouping: shuffle}
    - {from: work, to: out, grouping: {fields: [k]}}
behaviours:
  in: {service: {cpu_ms: 0.02}}
  work: {service: {wait_ms: 2}, outputs: {default: 1}, keys: {default: {uniform: {count: 4}}}}
  out: {service: {cpu_ms: 0.1}}
configuration:
  executors: {in: 2, work: 2}
  workers: 2
  settings:
    topology.disable.loadaware.messaging: true
    topology.bolt.wait.progressive.level2.count: 0
cluster: {uniform: {nodes: 2, slots: 2, cores: 4, latency_ms: 0.2}}
workload: [{source: in, per_second: 200}]
"""
EXPERIMENT = """\
streamgauge: 1
experiment: judged
job: {file: job.yaml}
steps:
  slow: {rate: 100}
  fast: {rate: 400}
  flood: {rate: 700, executors: {work: 1}}
warm_up: {seconds: 2}
windows: 2
window_seconds: 5
repetitions: 2
"""


def run_small(folder: Path, text: str = EXPERIMENT) -> Path:
    """The folder of the experiment after it has run."""
    experiment = load_experiment(write_experiment(folder, text, JOB))
    run_experiment(experiment, EmulatorRunner(), folder / "out", lambda reached: None)
    return folder / "out"


def keep_profiles(folder: Path, *, machines: bool = True) -> None:
    """Put profiles of what the jobs of all steps declare where a judgement keeps its own."""
    journal = read_journal(folder)
    kept = JudgeFolder(journal, folder)
    for step in journal.experiment.steps:
        profile = described_profile(replace(step.job, cluster=journal.experiment.cluster))
        if not machines:
            profile = replace(profile, cluster=None)
        for source in journal.of_step(step.name)[-1:]:
            kept.begin_profile(step.name, source)
            kept.profile(step.name).write_text(profile_to_json(profile))
            kept.end_profile(step.name, source)
