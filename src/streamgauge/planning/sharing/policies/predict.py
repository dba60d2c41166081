"""The policy that predicts: a step only where the model expects the system to gain by it.

It knows no more than the others: what every operator did, how busy it was, and what came. Of these
it learns, operator by operator, what one executor can do, by which power of their number executors
do more, and by which factor latency is off what queues would make it. It looks ahead as far as a
change takes, changes several operators and jobs at once, and frees only what it does not expect to
need. How far its predictions were off is in the next one's factor and in its interval; a change
that made a job worse is undone.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from streamgauge.models.model_error import ENOUGH, find_conformal_quantile
from streamgauge.planning.sharing.demand import find_demand
from streamgauge.planning.sharing.observation import ClusterSeen, JobSeen, OperatorSeen
from streamgauge.planning.sharing.policy import Decision
from streamgauge.planning.sharing.slo import Quality, Statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictParameters:
    """Settings; all are round numbers.

    Attributes:
        interval_seconds: Between two decisions.
        ahead_seconds: For which load a plan is made: until a change has taken effect, and as long
            again.
        memory_seconds: Over which the course of the load, and its largest value, are looked at.
        settle_seconds: After a change of a job, until what is seen of it counts.
        stay_seconds: After a change of a job, until executors are taken from it.
        margin: Part by which more load than is expected must be met without a change.
        spare: Part by which more load is planned for where executors change: what is changed again
            soon costs two changes.
        catch_up_seconds: Within which a backlog is to be gone.
        busiest: Part of the time that an executor may be busy.
        aim: Part of a latency threshold that is aimed at.
        gain: Part of the utility by which a change must be better to be made.
        saving: Part of a job's executors that must be to spare for them to be taken.
        exponent: Of executors that were never changed.
        most_busy: Part of all cores that jobs may use together.
        interval: Probability with which utility is in its interval; a change must gain more than
            half of that is wide.
        oldest_seconds: With figures of operators that are older nothing is planned.
    """

    interval_seconds: float = 10.0
    ahead_seconds: float = 300.0
    memory_seconds: float = 1800.0
    settle_seconds: float = 60.0
    stay_seconds: float = 1800.0
    margin: float = 0.1
    spare: float = 0.3
    catch_up_seconds: float = 600.0
    busiest: float = 0.8
    aim: float = 0.8
    gain: float = 0.02
    saving: float = 0.4
    exponent: float = 0.9
    most_busy: float = 0.9
    interval: float = 0.9
    oldest_seconds: float = 3600.0


# How much of what was learned a new value replaces.
LEARNING = 0.2
# Of so many windows the median is the load of now: one is as noisy as any figure.
LATEST = 6
# What a statistic is of an exponential distribution's mean, until it was measured.
OF_MEAN = {
    Statistic.MEAN: 1.0,
    Statistic.P50: math.log(2.0),
    Statistic.P95: math.log(20.0),
    Statistic.P99: math.log(100.0),
}
# Between these an exponent is believed.
EXPONENTS = (0.3, 1.0)
MOST_STEPS = 500
# So many of the last predictions say how far the next one may be off; and never by more than this.
RESIDUALS, WIDEST = 60, 0.5
# A load that differs by more than this part is another one, under which nothing is judged.
SAME_LOAD = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """A change whose effect is not known yet.

    Attributes:
        executors: What the job had before.
        utility: What it was worth then.
        load: Under which load.
        expected: What it is to be worth.
    """

    executors: Mapping[str, int]
    utility: float
    load: float
    expected: float


@dataclass(slots=True)
class _Learned:
    """What is known of a job.

    Attributes:
        per_executor: By operator, tuples per second, with as many executors as it then had.
        exponent: By operator.
        latency_factor: Measured latency over what queues would make it.
        begun: When the job was seen first.
        factors: How often that factor was measured.
        loads: Of the last while, with their times.
        changed: When its executors were changed last.
        before: By operator: executors, and what one of them did, before that change.
        learned: When what one executor can do was measured last.
        utilities: Measured ones, of the last windows.
        residuals: Measured less expected utility, over its maximum, where nothing was in between.
        trial: The last change, until it is judged.
        barred: Until when nothing is changed, after a change that was undone …
        barred_load: … unless there is more load than this.
    """

    latency_factor: float
    begun: float
    factors: int = 0
    per_executor: dict[str, tuple[int, float]] = field(default_factory=dict)
    exponent: dict[str, float] = field(default_factory=dict)
    loads: deque[tuple[float, float]] = field(default_factory=deque)
    changed: float = -math.inf
    before: dict[str, tuple[int, float]] = field(default_factory=dict)
    learned: float = -math.inf
    utilities: deque[float] = field(default_factory=lambda: deque(maxlen=LATEST))
    residuals: deque[float] = field(default_factory=lambda: deque(maxlen=RESIDUALS))
    trial: _Trial | None = None
    barred: float = -math.inf
    barred_load: float = 0.0


class Predicting:
    """Expects utilities before it acts."""

    name = "predict"
    settings = PredictParameters

    def __init__(self, parameters: PredictParameters | None = None) -> None:
        self.parameters = parameters or PredictParameters()
        self.period_seconds = self.parameters.interval_seconds
        self._learned: dict[str, _Learned] = {}

    def describe(self) -> str:
        """One sentence."""
        return "executors for the load that is expected, where the model says that utility rises"

    def decide(self, seen: ClusterSeen) -> Decision:
        """All jobs, the most valuable first, as long as there are cores."""
        if seen.stale:
            return Decision(rule="outage", reason="no new metrics")
        wanted: dict[str, Mapping[str, int]] = {}
        reasons = []
        room = self._find_room(seen)
        for name in sorted(seen.jobs, key=lambda name: -seen.jobs[name].slo.max_utility):
            job = seen.jobs[name]
            learned = self._learned.setdefault(
                name, _Learned(latency_factor=OF_MEAN[job.slo.statistic], begun=seen.at)
            )
            self._learn(learned, seen.at, job, is_crowded=seen.is_congested)
            cores = sum(one.cores for one in job.operators.values())
            known = seen.at - max(learned.changed, learned.begun)
            if known >= self.parameters.settle_seconds and learned.loads:
                plan, reason = self._decide_for(learned, seen.at, job)
                growth = self._expect_load(learned, job) / max(job.offered_per_second, 1e-9)
                if plan and room <= cores * growth and sum(plan.values()) >= _count(job):
                    plan, reason = {}, f"no cores are left: {reason}"
                if plan:
                    wanted[name] = plan
                if reason:
                    reasons.append(f"{name}: {reason}")
            room -= cores
        decision = Decision.of("prediction", seen, wanted, "; ".join(reasons))
        for name in decision.executors:
            self._begin_trial(self._learned[name], seen.at, seen.jobs[name], wanted[name])
        return decision

    def _find_room(self, seen: ClusterSeen) -> float:
        """Cores that jobs may use: none more where threads wait for them, whoever's they are."""
        if seen.is_congested:
            return 0.0
        return self.parameters.most_busy * sum(one.cores for one in seen.machines)

    def _decide_for(
        self, learned: _Learned, at: float, job: JobSeen
    ) -> tuple[Mapping[str, int], str]:
        """The executors to have, or none where nothing is to change, and why."""
        undone = self._judge(learned, at, job)
        if undone is not None:
            return undone
        age = at - learned.learned
        if age > self.parameters.oldest_seconds:
            if math.isinf(age):
                return {}, "nothing is known of its operators yet"
            return {}, f"its profile is {age:.0f} s old, too old to act on"
        if self._waits(learned, at, job):
            return {}, ""
        plan, reason = self._plan(learned, at, job)
        return plan, f"{reason} (profile {age:.0f} s old)" if reason else ""

    def _waits(self, learned: _Learned, at: float, job: JobSeen) -> bool:
        """Whether the last change was undone, or may still help, and there is no more to do."""
        load, trial = self._now(learned), learned.trial
        if at < learned.barred:
            return load <= learned.barred_load
        if trial is None or len(learned.utilities) >= LATEST or job.lag_per_second > 0.0:
            return False
        return load <= (1.0 + SAME_LOAD) * trial.load

    def _begin_trial(
        self, learned: _Learned, at: float, job: JobSeen, plan: Mapping[str, int]
    ) -> None:
        """Remember what a job was before a change of it, unless the change undoes another."""
        load = self._now(learned)
        known = at >= learned.barred and learned.utilities
        learned.trial = None
        if known:
            demand = find_demand(job, load)
            learned.trial = _Trial(
                executors=job.executors,
                utility=float(np.median(learned.utilities)),
                load=load,
                expected=self._find_utility(learned, job, plan, demand),
            )
        learned.changed = at
        learned.before = dict(learned.per_executor)
        learned.utilities.clear()

    def _judge(
        self, learned: _Learned, at: float, job: JobSeen
    ) -> tuple[Mapping[str, int], str] | None:
        """Undo the last change where it made the job worse; nothing where it did not or may yet."""
        trial = learned.trial
        if trial is None or len(learned.utilities) < LATEST:
            return None
        learned.trial = None
        if abs(self._now(learned) - trial.load) > SAME_LOAD * trial.load:
            return None
        worth = job.slo.max_utility
        measured = float(np.median(learned.utilities))
        if measured >= trial.utility - self.parameters.gain * worth:
            return None
        learned.residuals.append((measured - trial.expected) / worth)
        learned.barred = at + self.parameters.stay_seconds
        learned.barred_load = (1.0 + SAME_LOAD) * trial.load
        back = f"worth {measured:.3g} where {trial.expected:.3g} was expected: back to before"
        return trial.executors, back

    def _learn(self, learned: _Learned, at: float, job: JobSeen, *, is_crowded: bool) -> None:
        if job.doubt:
            return
        learned.loads.append((at, job.offered_per_second))
        while learned.loads[0][0] < at - self.parameters.memory_seconds:
            learned.loads.popleft()
        if at - learned.changed < self.parameters.settle_seconds:
            return
        for name, one in job.operators.items():
            # Threads that wait for a core do less: not for there being many of their operator.
            waits = is_crowded and name in learned.per_executor
            if math.isfinite(one.per_executor) and not waits:
                self._learn_operator(learned, name, one)
                learned.learned = learned.learned if one.is_source else at
        self._note_utility(learned, at, job)
        latency = job.quality.latency_seconds.get(job.slo.statistic)
        demand = find_demand(job, job.offered_per_second)
        expected = self._find_latency(learned, job, job.executors, demand)
        if latency is not None and 0.0 < expected < math.inf and not _is_behind(job):
            ratio = latency / expected / learned.latency_factor
            learned.factors += 1
            # The first ones are averaged: what was there before is a guess.
            learned.latency_factor *= ratio ** max(LEARNING, 1.0 / learned.factors)

    def _note_utility(self, learned: _Learned, at: float, job: JobSeen) -> None:
        """Keep what the job is worth, and how far that is from what the model says."""
        # While a job catches up with what came while it stood still, latency is of then.
        catches_up = _is_behind(job) and at - learned.changed < self.parameters.catch_up_seconds
        if job.utility is None or catches_up:
            return
        learned.utilities.append(job.utility)
        # How far off a model was that was not fitted yet says nothing of one that is.
        if not _is_behind(job) and learned.factors >= LATEST:
            demand = find_demand(job, job.offered_per_second)
            expected = self._find_utility(learned, job, job.executors, demand)
            learned.residuals.append((job.utility - expected) / job.slo.max_utility)

    def _find_interval(self, learned: _Learned) -> float:
        """Half the width of a utility's interval, over its maximum; zero of few predictions."""
        if len(learned.residuals) < ENOUGH:
            return 0.0
        errors = [abs(one) for one in learned.residuals]
        return min(WIDEST, find_conformal_quantile(errors, self.parameters.interval))

    def _learn_operator(self, learned: _Learned, name: str, one: OperatorSeen) -> None:
        count, rate = learned.per_executor.get(name, (one.executors, one.per_executor))
        if count != one.executors:
            rate = one.per_executor
        rate += LEARNING * (one.per_executor - rate)
        learned.per_executor[name] = (one.executors, rate)
        was, did = learned.before.get(name, (one.executors, rate))
        if was != one.executors:
            # Capacity ∝ n^e, so what one executor does ∝ n^(e − 1).
            seen = 1.0 + math.log(rate / did) / math.log(one.executors / was)
            known = learned.exponent.get(name, self.parameters.exponent)
            seen = min(max(seen, EXPONENTS[0]), EXPONENTS[1])
            learned.exponent[name] = known + LEARNING * (seen - known)

    def _expect_load(self, learned: _Learned, job: JobSeen) -> float:
        """The largest load until a change has taken effect: the trend goes on, with a margin."""
        rules = self.parameters
        times, loads = np.asarray(learned.loads).T
        recent = times >= times[-1] - 3.0 * rules.ahead_seconds
        rise = 0.0
        if recent.sum() >= 3:
            apart = times[recent] - times[recent].mean()
            slope = float(apart @ loads[recent]) / float(apart @ apart)
            rise = max(0.0, slope * rules.ahead_seconds)
        load = self._now(learned) + rise
        return load * (1.0 + rules.margin) + job.lag / rules.catch_up_seconds

    def _now(self, learned: _Learned) -> float:
        """The load of now."""
        latest = sorted(load for _, load in islice(reversed(learned.loads), LATEST))
        return 0.5 * (latest[(len(latest) - 1) // 2] + latest[len(latest) // 2])

    def _plan(self, learned: _Learned, at: float, job: JobSeen) -> tuple[dict[str, int], str]:
        """The executors to have, or none where it is not worth a change."""
        rules = self.parameters
        load = self._expect_load(learned, job)
        now, demand = job.executors, find_demand(job, load)
        expected = self._find_utility(learned, job, now, demand)
        # Once executors change there are some to spare, or the next change is soon due.
        ample = find_demand(job, load * (1.0 + rules.spare) / (1.0 + rules.margin))
        best = self._find_plan(learned, job, ample)
        better = self._find_utility(learned, job, best, demand)
        worth = job.slo.max_utility
        if better > expected + max(rules.gain, self._find_interval(learned)) * worth:
            grown = {name: max(now[name], count) for name, count in best.items()}
            return grown, f"worth {expected:.3g} as it is at {load:.4g}/s, {better:.3g} then"
        known = [one for _, one in learned.loads]
        peak = (1.0 + rules.spare) * max(
            load / (1.0 + rules.margin), float(np.quantile(known, 0.95))
        )
        most = find_demand(job, peak)
        fewer = self._find_plan(learned, job, most)
        # What so much fewer would do was never seen: half of them is far enough.
        kept = {
            name: min(now[name], max(count, math.ceil(now[name] / 2)))
            for name, count in fewer.items()
        }
        saved = _count(job) - sum(kept.values())
        still = self._find_utility(learned, job, kept, most)
        if (
            saved >= rules.saving * _count(job)
            and at - max(learned.changed, learned.begun) >= rules.stay_seconds
            and still >= expected - rules.gain * worth
            and job.lag <= job.offered_per_second
        ):
            return kept, f"{saved} executors are not needed up to {peak:.4g}/s"
        return {}, ""

    def _find_plan(
        self, learned: _Learned, job: JobSeen, demand: Mapping[str, float]
    ) -> dict[str, int]:
        """The fewest executors that are not too busy, then one more where it helps latency most."""
        plan = {}
        for name, one in job.operators.items():
            least = one.executors if one.is_source else 1
            while least < one.tasks and demand[name] > self.parameters.busiest * self._capacity(
                learned, name, one, least
            ):
                least += 1
            plan[name] = least
        target = job.slo.latency_seconds
        if target is None:
            return plan
        for _ in range(MOST_STEPS):
            latency = self._find_latency(learned, job, plan, demand) * learned.latency_factor
            if latency <= self.parameters.aim * target:
                break
            gains = {
                name: latency
                - self._find_latency(learned, job, {**plan, name: plan[name] + 1}, demand)
                * learned.latency_factor
                for name, one in job.operators.items()
                if not one.is_source and plan[name] < one.tasks
            }
            best = max(gains, key=lambda name: gains[name], default=None)
            # What brings less than a thousandth brings nothing.
            if best is None or not gains[best] > 1e-3 * latency:
                break
            plan[best] += 1
        return plan

    def _capacity(self, learned: _Learned, name: str, one: OperatorSeen, executors: int) -> float:
        """Tuples per second of so many executors; without bound where it was never seen to work."""
        count, rate = learned.per_executor.get(name, (one.executors, math.inf))
        exponent = learned.exponent.get(name, self.parameters.exponent)
        return rate * count * math.pow(executors / count, exponent)

    def _find_latency(
        self,
        learned: _Learned,
        job: JobSeen,
        plan: Mapping[str, int],
        demand: Mapping[str, float],
    ) -> float:
        """Of M/M/1 executors in a row, in seconds; infinite where one is overloaded."""
        total = 0.0
        for name, one in job.operators.items():
            capacity = self._capacity(learned, name, one, plan[name])
            if demand[name] >= capacity:
                return math.inf
            if math.isfinite(capacity):
                total += plan[name] / (capacity - demand[name])
        return total

    def _find_utility(
        self,
        learned: _Learned,
        job: JobSeen,
        plan: Mapping[str, int],
        demand: Mapping[str, float],
    ) -> float:
        """What the job would be worth."""
        latency = self._find_latency(learned, job, plan, demand) * learned.latency_factor
        part = min(
            (
                self._capacity(learned, name, one, plan[name]) / demand[name]
                for name, one in job.operators.items()
                if demand[name] > 0.0
            ),
            default=1.0,
        )
        quality = Quality(latency_seconds={job.slo.statistic: latency}, juice=min(1.0, part))
        worth = replace(job, quality=quality).utility
        return 0.0 if worth is None else worth


def _is_behind(job: JobSeen) -> bool:
    """Whether it has a backlog of more than a second."""
    return job.lag > job.offered_per_second


def _count(job: JobSeen) -> int:
    return sum(job.executors.values())
