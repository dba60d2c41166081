"""What an ingest did, counted in rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamgauge.errors import InternalError


@dataclass(slots=True, kw_only=True)
class Tally:
    """Rows of one ingest; every line ends in exactly one of the three places.

    Attributes:
        files: Files read.
        known_files: Files that the lake has already, just as they are, and that were not read.
        faults: Files that could not be read to their ends, with the cause.
        lines: Lines of all files, known ones included.
        taken: Rows that tables have more than before.
        quarantined: Rows that quarantine has more than before.
        duplicates: Lines that the lake has already, or that came twice.
        reasons: Lines that were not taken, by reason, duplicates included.
        superseded: Rows that gave way to others of the same key.
        released: Lines that left quarantine, since they are good now.
    """

    files: int = 0
    known_files: int = 0
    faults: dict[str, str] = field(default_factory=dict)
    lines: int = 0
    taken: dict[str, int] = field(default_factory=dict)
    quarantined: int = 0
    duplicates: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    superseded: int = 0
    released: int = 0

    def add(self, other: Tally) -> None:
        """Count what another one counted, too."""
        self.files += other.files
        self.known_files += other.known_files
        self.faults |= other.faults
        self.lines += other.lines
        self.quarantined += other.quarantined
        self.duplicates += other.duplicates
        self.superseded += other.superseded
        for mine, theirs in ((self.taken, other.taken), (self.reasons, other.reasons)):
            for name, rows in theirs.items():
                mine[name] = mine.get(name, 0) + rows

    def check(self) -> None:
        """Every line ended in exactly one place.

        Raises:
            InternalError: It did not.
        """
        places = sum(self.taken.values()) + self.quarantined + self.duplicates
        if places != self.lines:
            raise InternalError(
                f"{self.lines} lines were read, but {sum(self.taken.values())} rows were taken,"
                f" {self.quarantined} put in quarantine and {self.duplicates} duplicates found"
            )

    def to_dict(self) -> Mapping[str, object]:
        """The tally as a document."""
        return {
            "files": self.files,
            "known_files": self.known_files,
            "faults": self.faults,
            "lines": self.lines,
            "taken": self.taken,
            "quarantined": self.quarantined,
            "duplicates": self.duplicates,
            "reasons": self.reasons,
            "superseded": self.superseded,
            "released": self.released,
        }
