"""The parts of mapping files: how keys, counts and metrics stand in them."""

from __future__ import annotations

import re
from decimal import Decimal
from string import Formatter
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    model_validator,
)

from streamgauge.errors import Findings, did_you_mean, suggest_name
from streamgauge.lake.definition import QUEUES, Kind, Level
from streamgauge.lake.mapping import MAPPED_KEYS, Count, MetricRule, Reading
from streamgauge.lake.metrics import METRICS, Metric
from streamgauge.lake.record_types import SHAPES, keys_of
from streamgauge.topology.field_checks import format_value
from streamgauge.topology.files.file_model import TAG, FileModel, refusal
from streamgauge.topology.frozen import FrozenDict

Keys = dict[str, str | int | Reading]

# The default of a key that must be given: its validator says what was expected.
NEEDED: Any = Field(default=None, validate_default=True)

_SAMPLE_CHECKS = SHAPES["sample"].checks
_COUNTS = "value, a number, {column: …} or {share: …}"
SCALAR, MAPPING = f"{TAG}scalar", f"{TAG}mapping"


class Part(FileModel):
    """A part of a mapping; a key without a value is as good as none."""

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: entry for key, entry in value.items() if entry is not None}


def require(expected: str) -> BeforeValidator:
    """Refuses a key that is missing."""

    def check(value: Any) -> Any:
        if value is None:
            raise refusal("nothing", expected)
        return value

    return BeforeValidator(check)


def text(expected: str = "a text") -> BeforeValidator:
    """Takes a text that is not empty."""

    def check(value: Any) -> Any:
        if not isinstance(value, str) or not value:
            raise refusal("nothing" if value is None else format_value(value), expected)
        return value

    return BeforeValidator(check)


def word(*known: str) -> BeforeValidator:
    """Takes one of the known words."""
    expected = f"one of {', '.join(known)}"

    def check(value: Any) -> Any:
        if value is None:
            raise refusal("nothing", expected)
        if value not in known:
            remedy = suggest_name(value, known) if isinstance(value, str) else ""
            raise refusal(format_value(value), expected, remedy)
        return str(value)

    return BeforeValidator(check)


def positive(most: Decimal | None = None) -> BeforeValidator:
    """Takes a number above zero, exactly as it is written."""
    expected = "a number above 0" + (f" and at most {most:,}" if most is not None else "")

    def check(value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            # The digits as they were written, not the nearest double's.
            exact = Decimal(repr(value))
            if exact.is_finite() and exact > 0 and (most is None or exact <= most):
                return exact
        raise refusal(format_value(value), expected)

    return BeforeValidator(check)


def pattern(groups: int | None = None) -> BeforeValidator:
    """Takes a regular expression, of exactly so many groups where a number is given."""

    def check(value: Any) -> Any:
        if not isinstance(value, str) or not value:
            raise refusal(format_value(value), "a text")
        try:
            number = re.compile(value).groups
        except re.error as error:
            raise refusal(f"{format_value(value)}: {error}", "a regular expression") from None
        if groups is not None and number != groups:
            raise refusal(f"{number} groups", f"exactly {groups} in brackets")
        return value

    return BeforeValidator(check)


def _check_texts(value: Any) -> Any:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise refusal(format_value(value), "a list of texts")
    twice = sorted({item for item in value if value.count(item) > 1})
    if twice:
        raise refusal(f"{twice[0]!r} twice", "each once")
    return tuple(value)


def _check_ignored(value: Any) -> Any:
    return value if isinstance(value, bool) else frozenset(_check_texts(value))


Texts = Annotated[tuple[str, ...], BeforeValidator(_check_texts)]
# Names that are left aside, or whether all that have no rule are.
Ignored = Annotated[bool | frozenset[str], BeforeValidator(_check_ignored)]
TextsByName = dict[str, Annotated[str, text()]]


def _check_key(key: str) -> str:
    if key not in MAPPED_KEYS:
        remedy = did_you_mean(key, MAPPED_KEYS)
        raise refusal(f"unknown key {key!r}", "a key that a sample may have", remedy)
    return key


def _check_template(value: Any) -> Any:
    if not isinstance(value, str) or not value:
        raise refusal(format_value(value), "a text")
    try:
        parsed = list(Formatter().parse(value))
    except ValueError as error:
        raise refusal(f"{format_value(value)}: {error}", "{column} in text") from None
    if any(spec or conversion or name == "" for _, name, spec, conversion in parsed):
        raise refusal(format_value(value), "names of columns in braces")
    if all(name is None for _, name, _, _ in parsed):
        raise refusal(format_value(value), "at least one {column}")
    return value


class ColumnFile(Part):
    """The column that holds a length."""

    column: Annotated[str, text("the column that holds the length")] = NEEDED


class ReadingFile(Part):
    """How a key is read off a row: from a column, or from several by a template."""

    column: Annotated[str, text("a column")] | None = None
    template: Annotated[str, BeforeValidator(_check_template)] | None = None
    match: Annotated[str, pattern(groups=1)] | None = None
    words: TextsByName = {}

    @model_validator(mode="before")
    @classmethod
    def _from_column(cls, value: Any) -> Any:
        if isinstance(value, str) and value:
            return {"column": value}
        if not isinstance(value, dict):
            raise refusal(
                format_value(value), "a column, or column or template with match and words"
            )
        return value

    def build(self, findings: Findings, *place: str | int) -> Reading:
        """The rule."""
        if self.column is None and self.template is None:
            findings.add(*place, "column", seen="nothing", expected="a column")
        if self.column is not None and self.template is not None:
            findings.add(*place, seen="column and template", expected="one of them")
        parts: tuple[tuple[str, str | None], ...] = (("", self.column),)
        if self.template is not None:
            parsed = Formatter().parse(self.template)
            parts = tuple((before, name) for before, name, _, _ in parsed)
        return Reading(parts=parts, match=self.match, words=FrozenDict(self.words))


KeyName = Annotated[str, AfterValidator(_check_key)]


class KeysFile(Part):
    """Keys of samples: fixed for all rows, or read off each."""

    fixed: dict[KeyName, Any] = Field(default={}, alias="set")
    columns: dict[KeyName, ReadingFile] = {}

    def build_keys(self, findings: Findings, *place: str | int) -> Keys:
        """What `set` and `columns` say; it wins over what stands further out."""
        keys: Keys = {}
        for key, value in self.fixed.items():
            fault = _SAMPLE_CHECKS[key](key, value)
            if fault is not None:
                expected = fault.detail.partition("expected ")[2]
                findings.add(*place, "set", key, seen=format_value(value), expected=expected)
            keys[key] = value
        for key, reading in self.columns.items():
            where = (*place, "columns", key)
            if key in keys:
                findings.add(*where, seen=f"{key} under set, too", expected="one of them")
            keys[key] = reading.build(findings, *where)
        return keys


class CountFile(Part):
    """A count that a column tells, or that is a share of the value."""

    column: Annotated[str, text("the column that holds the count")] | None = None
    share: Annotated[Decimal, positive(most=Decimal(1))] | None = None

    @model_validator(mode="after")
    def _check_one(self) -> CountFile:
        if (self.column is None) == (self.share is None):
            raise refusal("both" if self.column else "neither", "column or share")
        return self

    def build(self) -> Count:
        """The rule."""
        return Count(column=self.column, share=self.share)


def _read_count(value: Any) -> Count:
    if value == "value":
        return Count(share=Decimal(1))
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return Count(constant=value)
    raise refusal(format_value(value), _COUNTS)


def tell_apart(value: Any) -> str:
    """Whether a key has a value of its own or a mapping below it."""
    return MAPPING if isinstance(value, dict) else SCALAR


def _check_metric(label: str) -> str:
    if label not in METRICS:
        remedy = did_you_mean(label, list(METRICS))
        raise refusal(f"unknown metric {label!r}", "the name of a metric", remedy)
    return label


MetricName = Annotated[str, text("the name of a metric"), AfterValidator(_check_metric)]


CountRule = Annotated[
    Annotated[Count, PlainValidator(_read_count), Tag(SCALAR)] | Annotated[CountFile, Tag(MAPPING)],
    Discriminator(tell_apart),
]


class RuleFile(KeysFile):
    """How one number of a row becomes a sample."""

    metric: MetricName | None = None
    count: CountRule | None = None
    scale: Annotated[Decimal, positive()] = Decimal(1)
    round: bool = False

    def build_rule(
        self, label: str, outer: Keys, findings: Findings, *place: str | int
    ) -> MetricRule | None:
        """The rule; nothing, and a problem, where there is no such metric.

        Args:
            label: Name of the metric where the file gives none: that of its column.
            outer: Keys that stand further out.
            findings: Where problems go.
            place: Where the rule stands.
        """
        label = self.metric or label
        keys = outer | self.build_keys(findings, *place)
        metric = METRICS.get(label)
        if metric is None:
            remedy = did_you_mean(label, list(METRICS))
            expected = "the name of a metric"
            findings.add(*place, seen=f"unknown metric {label!r}", expected=expected, remedy=remedy)
            return None
        return MetricRule(
            label=label,
            keys=_fitting_keys(metric, keys, findings, *place),
            count=self._build_count(metric, findings, *place),
            scale=self.scale,
            rounded=self.round,
        )

    def _build_count(self, metric: Metric, findings: Findings, *place: str | int) -> Count:
        if self.count is None:
            if metric.kind is not Kind.GAUGE:
                remedy = "it is how many observations were really taken"
                findings.add(*place, "count", seen="nothing", expected=_COUNTS, remedy=remedy)
            return Count(constant=1)
        count = self.count if isinstance(self.count, Count) else self.count.build()
        if count.constant is not None and metric.counts_observations:
            # It could not be true of a bucket in which nothing was counted.
            seen = f"{count.constant} for {metric}, which counts"
            expected = "value, {column: …} or {share: …}"
            findings.add(*place, "count", seen=seen, expected=expected)
        if count.share is not None and not metric.counts_observations:
            seen = f"a share of {metric}, which is in {metric.unit}"
            findings.add(*place, "count", seen=seen, expected="a number or a column")
        return count


def _check_metrics(value: Any) -> Any:
    if value is None:
        raise refusal("nothing", "the metric of each column or name")
    if value == {}:
        raise refusal("nothing", "at least one metric")
    return value


Metrics = Annotated[dict[str, RuleFile | None], BeforeValidator(_check_metrics)]


def build_metrics(
    metrics: dict[str, RuleFile | None], outer: Keys, findings: Findings, *place: str | int
) -> FrozenDict[str, MetricRule]:
    """The rules of all columns or names."""
    rules = {
        name: (file or RuleFile()).build_rule(name, outer, findings, *place, "metrics", name)
        for name, file in metrics.items()
    }
    return FrozenDict({name: rule for name, rule in rules.items() if rule is not None})


def _fitting_keys(
    metric: Metric, keys: Keys, findings: Findings, *place: str | int
) -> FrozenDict[str, str | int | Reading]:
    """Those of the keys that samples of `metric` can have; a problem where one is lacking."""
    queue = keys.get("queue")
    if metric.level is Level.QUEUE and isinstance(queue, Reading):
        # Which queue it is shows only in the row.
        choices = [keys_of(metric, queue_kind) for queue_kind in QUEUES.values()]
    else:
        choices = [keys_of(metric, QUEUES.get(queue) if isinstance(queue, str) else None)]
    required = frozenset.intersection(*(needs for needs, _ in choices))
    allowed = frozenset.union(*(fit for _, fit in choices))
    missing = sorted((required & frozenset(MAPPED_KEYS)) - keys.keys())
    if missing:
        findings.add(
            *place,
            seen=f"no {', '.join(missing)}",
            expected=f"all keys that {metric} needs",
            remedy="give them under columns or set",
        )
    return FrozenDict({key: value for key, value in keys.items() if key in allowed})
