"""A guard around a policy: nothing is decided on bad data, and no policy can do harm by failing.

In an outage nothing is changed. A job whose figures cannot be is shown to the policy as it was
last, with an objective of which nothing is known, and is not changed. A policy that raises has
decided nothing; one that does not answer in time is not asked again. Whatever is refused is said.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from streamgauge.planning.sharing.observation import ClusterSeen, JobSeen
from streamgauge.planning.sharing.plausible import doubt_job
from streamgauge.planning.sharing.policy import Decision, Policy
from streamgauge.planning.sharing.slo import Quality
from streamgauge.topology.frozen import FrozenDict

# A round of Henge: who takes longer has missed the next one.
LIMIT_SECONDS = 10.0


class Guarded:
    """A policy that is asked with care.

    Args:
        policy: Fresh: what it remembers is its own.
        limit_seconds: For how long an answer is waited for.
    """

    def __init__(self, policy: Policy, limit_seconds: float = LIMIT_SECONDS) -> None:
        self.policy = policy
        self.name = policy.name
        self.period_seconds = policy.period_seconds
        self._limit = limit_seconds
        self._asking = _Asking(policy)
        self._trusted: dict[str, JobSeen] = {}
        self._at = -math.inf

    def describe(self) -> str:
        """What the policy does."""
        return self.policy.describe()

    def decide(self, seen: ClusterSeen) -> Decision:
        """What the policy decides, as far as that may be done."""
        if seen.at < self._at:
            back = f"time went back from {self._at:.0f} to {seen.at:.0f} s: nothing is changed"
            return Decision(rule="refused", refused=(back,))
        self._at = seen.at
        doubts = {name: doubt for name, job in seen.jobs.items() if (doubt := doubt_job(job))}
        believed = self._believe(seen, doubts)
        answer, fault = self._asking.ask(believed, self._limit)
        told = [f"{name} stays as it is: {doubt}" for name, doubt in doubts.items()]
        if fault:
            return Decision(rule="refused", refused=(*told, f"{self.name} {fault}"))
        if not isinstance(answer, Decision):
            fault = f"answered {type(answer).__name__}, which is no decision"
            return Decision(rule="refused", refused=(*told, f"{self.name} {fault}"))
        if seen.stale:
            return replace(
                answer,
                executors=FrozenDict(),
                refused=("no new metrics: nothing is changed",),
            )
        allowed, wrong = _allow(answer, believed, doubts)
        return replace(answer, executors=allowed, refused=(*answer.refused, *told, *wrong))

    def _believe(self, seen: ClusterSeen, doubts: Mapping[str, str]) -> ClusterSeen:
        """The cluster with doubtful jobs as they were last; those never seen are left out."""
        if seen.stale:
            return seen
        jobs = {}
        for name, job in seen.jobs.items():
            if name not in doubts:
                jobs[name] = self._trusted[name] = job
            elif name in self._trusted:
                jobs[name] = replace(self._trusted[name], quality=Quality(), doubt=doubts[name])
        return replace(seen, jobs=FrozenDict(jobs)) if doubts else seen


def _allow(
    answer: Decision, seen: ClusterSeen, doubts: Mapping[str, str]
) -> tuple[FrozenDict[str, Mapping[str, int]], list[str]]:
    """The changes that can be made, and why the others cannot."""
    allowed: dict[str, Mapping[str, int]] = {}
    wrong = []
    for name, changes in answer.executors.items():
        if name in doubts:
            continue
        if name not in seen.jobs:
            wrong.append(f"there is no job {name!r} to change")
            continue
        fit = {}
        for operator, wanted in changes.items():
            fault = _find_fault(seen.jobs[name], operator, wanted)
            if fault:
                wrong.append(f"{name}: {fault}")
            else:
                fit[operator] = int(wanted)
        if fit:
            allowed[name] = FrozenDict(fit)
    return FrozenDict(allowed), wrong


def _find_fault(job: JobSeen, operator: str, wanted: object) -> str:
    one = job.operators.get(operator)
    if one is None:
        return f"there is no operator {operator!r} to change"
    # To Python, true and false are whole numbers.
    is_whole = isinstance(wanted, Integral) and not isinstance(wanted, bool)
    if not is_whole or wanted not in range(1, one.tasks + 1):
        return f"{wanted!r} executors of {operator}, which can have 1 to {one.tasks}"
    return ""


class _Asking:
    """Asks a policy in a thread of its own, which whoever waits can leave behind."""

    def __init__(self, policy: Policy) -> None:
        self._questions: SimpleQueue[ClusterSeen | None] = SimpleQueue()
        self._answers: SimpleQueue[tuple[Any, str]] = SimpleQueue()
        self._policy = policy
        self._is_lost = False
        self._thread: Thread | None = None

    def ask(self, seen: ClusterSeen, seconds: float) -> tuple[Any, str]:
        """The answer, and what is wrong where there is none."""
        if self._is_lost:
            return None, "did not answer in time before, and is not asked again"
        if self._thread is None:
            # The end of the program does not wait for it.
            work = (self._policy, self._questions, self._answers)
            self._thread = Thread(target=_answer, args=work, daemon=True)
            self._thread.start()
            weakref.finalize(self, self._questions.put, None)
        self._questions.put(seen)
        try:
            return self._answers.get(timeout=seconds)
        except Empty:
            self._is_lost = True
            return None, f"has not answered for {seconds:g} s, and is not asked again"


def _answer(
    policy: Policy,
    questions: SimpleQueue[ClusterSeen | None],
    answers: SimpleQueue[tuple[Any, str]],
) -> None:
    """Answer until there are no more questions; whatever is raised is an answer too."""
    while (seen := questions.get()) is not None:
        try:
            answers.put((policy.decide(seen), ""))
        except BaseException as error:
            text = str(error).partition("\n")[0]
            answers.put((None, f"raised {type(error).__name__}{': ' * bool(text)}{text}"))
