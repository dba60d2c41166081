"""What a calibration says: which profiles it made, and how well their figures are measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamgauge.drawing.wording import count
from streamgauge.profile.profile import Profile
from streamgauge.profile.quality import ProfileQuality
from streamgauge.reports.content import Column, FigureRow, Grade, Section, Verdict, tabulate
from streamgauge.reports.report import Report, list_figures


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedProfile:
    """A profile that was made.

    Attributes:
        topology: Its topology, after its cluster and a slash where that has a name.
        uri: Where the lake keeps it.
        file: Where else it was written, if it was.
        quality: How well its figures are measured.
    """

    topology: str
    uri: str
    file: Path | None
    quality: ProfileQuality

    @property
    def profile(self) -> Profile:
        """The profile itself, read from the lake: those of a fleet would fill the memory."""
        from streamgauge.lake.profiles import read_profile

        return read_profile(self.uri)

    def to_dict(self) -> dict[str, Any]:
        """A record for programs; the profile itself is in its file."""
        file = None if self.file is None else str(self.file)
        return {"topology": self.topology, "file": file, "quality": self.quality.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport(Report):
    """The profiles that a calibration made.

    Attributes:
        lake: What they were made from.
        profiles: One for each topology, by cluster and name.
        faults: For topologies without a profile, why there is none.
        warnings: The same in words.
    """

    lake: str
    profiles: tuple[CalibratedProfile, ...]
    faults: Mapping[str, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()

    @property
    def title(self) -> str:
        """What the report is about."""
        return "Calibration"

    @property
    def verdict(self) -> Verdict:
        """Whether the profiles are any good."""
        if len(self.profiles) == 1:
            (made,) = self.profiles
            grade = Grade.FINE if made.quality.is_good else Grade.WARNING
            cautions = tuple(made.quality.cautions)
            if cautions and made.file is not None:
                cautions += (f"`streamgauge profile show {made.file}` says what to do about it",)
            sentence = f": {made.quality}"
            return Verdict(grade=grade, word=made.topology, sentence=sentence, cautions=cautions)
        good = sum(made.quality.is_good for made in self.profiles)
        return Verdict(
            grade=Grade.FINE if good == len(self.profiles) else Grade.WARNING,
            word=count(len(self.profiles), "profile"),
            sentence=f": in {good} of them every figure is well measured",
        )

    def sections(self) -> Sequence[Section]:
        """A row for each profile, where there are several."""
        table = tabulate(
            "Figures of each profile",
            [
                {
                    Column("topology"): made.topology,
                    Column("well measured"): made.quality.good,
                    Column("thin"): len(made.quality.thin),
                    Column("missing"): len(made.quality.missing),
                    Column("file", words=True): None if made.file is None else str(made.file),
                }
                for made in self.profiles
            ],
        )
        blocks = [table] if len(self.profiles) > 1 else []
        return [Section("profiles", "Profiles", blocks)]

    def document(self) -> Mapping[str, Any]:
        """The body of the JSON document."""
        profiles = [made.to_dict() for made in self.profiles]
        return {"profiles": profiles, "faults": dict(self.faults)}

    def figures(self) -> Iterator[FigureRow]:
        """How many figures of each profile are good, thin and missing."""
        for made in self.profiles:
            good, thin, missing = made.quality.good, made.quality.thin, made.quality.missing
            counts = {"good": good, "thin": len(thin), "missing": len(missing)}
            yield from list_figures("profile", made.topology, counts)
