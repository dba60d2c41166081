"""Samples by hand, as agents write them: rates that stay the same, bucket by bucket."""

from streamgauge.lake.histogram import bin_of, quantile
from streamgauge.lake.records import Sample
from streamgauge.planning.sharing.job_figures import WatchedJob
from streamgauge.planning.sharing.slo import Slo
from streamgauge.planning.sharing.statistics import Statistics
from streamgauge.profile.files.jobs import parse_job

# When things begin, in seconds since 1970: a round time.
BEGUN = 1_767_225_600.0
# Henge, figure 2.1: tuples by parent and child, sent and executed in a minute.
DIAMOND = {
    ("s", "a"): (10_000, 10_000),
    ("a", "b"): (8_000, 8_000),
    ("a", "c"): (8_000, 6_000),
    ("b", "d"): (8_000, 8_000),
    ("c", "d"): (6_000, 6_000),
}


def topology(edges, *, name="job", acked=False):
    """A job file of these edges; an operator that nobody sends to is a source."""
    names = list(dict.fromkeys(one for edge in edges for one in edge))
    children = {child for _, child in edges}
    kinds = {one: {} if one in children else {"kind": "source"} for one in names}
    operators = "".join(f"    {one}: {{{_yaml(kind)}}}\n" for one, kind in kinds.items())
    streams = "".join(
        f"    - {{from: {one}, to: {other}, stream: to-{other}, grouping: shuffle}}\n"
        for one, other in edges
    )
    text = (
        f"streamgauge: 1\ntopology:\n  name: {name}\n  acked: {str(acked).lower()}\n"
        f"  operators:\n{operators}  streams:\n{streams}"
    )
    return parse_job(text)


def _yaml(mapping):
    return ", ".join(f"{key}: {value}" for key, value in mapping.items())


def sample(metric, value, *, at=0.0, seconds=10.0, count=None, **who):
    """One sample of a bucket that begins so long after the beginning."""
    return Sample(
        metric=metric,
        value=float(value),
        count=int(value) if count is None else count,
        bucket_start_us=round((BEGUN + at) * 1e6),
        bucket_seconds=float(seconds),
        **who,
    )


def heartbeats(at=0.0, seconds=10.0, workers=("n1:6700",), name="job"):
    """What says of every worker that it reported a bucket."""
    return [
        sample(
            "worker_heartbeats",
            1,
            at=at,
            seconds=seconds,
            topology=name,
            worker=worker,
            node=worker.partition(":")[0],
        )
        for worker in workers
    ]


def flow(edges, *, at=0.0, seconds=10.0, part=1 / 6, name="job", worker="n1:6700"):
    """Counts of a bucket: that part of what the edges say."""
    made = []
    sent = {}
    for (parent, child), (out, done) in edges.items():
        sent[parent] = sent.get(parent, 0.0) + out * part
        who = {"topology": name, "component": child, "task": 2, "executor": f"{child}[2]"}
        into = {**who, "stream": f"to-{child}", "source_component": parent, "worker": worker}
        made.append(sample("executed", round(done * part), at=at, seconds=seconds, **into))
        made.append(
            sample("transferred", round(out * part), at=at, seconds=seconds, source_task=1, **into)
        )
    for parent, out in sent.items():
        who = {"topology": name, "component": parent, "task": 2, "executor": f"{parent}[2]"}
        who |= {"stream": "default", "worker": worker}
        made.append(sample("sent", round(out), at=at, seconds=seconds, **who))
        made.append(sample("emitted", round(out), at=at, seconds=seconds, **who))
    return made


def minute(edges, *, buckets=6, seconds=10.0, offset=0.0, name="job", workers=("n1:6700",)):
    """All samples of some buckets after each other."""
    made = []
    for number in range(buckets):
        at = offset + number * seconds
        made += flow(edges, at=at, seconds=seconds, part=seconds / 60.0, name=name)
        made += heartbeats(at, seconds, workers, name)
    return made


def statistics(edges=DIAMOND, *, slo=None, acked=False, rules=None, name="job"):
    """The module, watching one job."""
    job = topology(edges, name=name, acked=acked)
    watched = WatchedJob(
        slo=slo or Slo(juice=1.0), topology=job.topology, configuration=job.configuration
    )
    return Statistics({name: watched}, quantile, rules)


def take(module, samples, at=None):
    """Give samples in; each comes when its bucket ends unless it is said when."""
    for one in samples:
        came = one.bucket_start_us / 1e6 + one.bucket_seconds if at is None else BEGUN + at
        module.take(one, came)
    return module


def latency_samples(stem, milliseconds, *, at=0.0, sink="d"):
    """Latencies of a sink in a bucket: sum and histogram."""
    who = {"topology": "job", "component": sink, "task": 2, "source_component": "s"}
    nanoseconds = [one * 1e6 for one in milliseconds]
    made = [sample(f"{stem}_sum", sum(nanoseconds), at=at, count=len(nanoseconds), **who)]
    bins = [bin_of(one) for one in nanoseconds]
    return made + [
        sample(f"{stem}_bin", bins.count(one), at=at, bin=one, **who) for one in sorted(set(bins))
    ]
