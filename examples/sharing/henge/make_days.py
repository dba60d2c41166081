"""Makes days-sdsc-like.csv and days-epa-like.csv: two days of made-up web traffic.

Nothing of it was measured. The traces that were replayed in the original, a day of 1995 of two web
servers each, cannot be had here. What is said of the load is kept: it rises from seven in the
morning, is highest at twenty past one, and falls at night. One trace is steeper, the other has a
second peak in the evening; both vary by a tenth or so between quarters of an hour.
"""

import csv
import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

START, STEP, STEPS = datetime(1995, 8, 29, tzinfo=UTC), timedelta(minutes=15), 2 * 96
PEAK = 13 + 1 / 3


def bump(hour: float, at: float, before: float, after: float) -> float:
    """A hill around a time, with one slope before it and another one after it."""
    return math.exp(-(((hour - at) / (before if hour < at else after)) ** 2))


def steep(hour: float) -> float:
    """Nearly nothing at night."""
    return 0.08 + bump(hour, PEAK, 3.2, 4.0)


def broad(hour: float) -> float:
    """A quieter evening peak, and some load all night."""
    return 0.2 + 0.8 * bump(hour, PEAK, 3.6, 3.6) + 0.35 * bump(hour, 20.5, 2.5, 2.0)


for name, course, seed in (("sdsc", steep, 11), ("epa", broad, 12)):
    noise = random.Random(seed)
    file = Path(__file__).with_name(f"days-{name}-like.csv")
    with file.open("w", encoding="utf-8", newline="") as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow(["time", "value"])
        for at in range(STEPS):
            time = START + at * STEP
            value = 100 * course(time.hour + time.minute / 60) * math.exp(noise.gauss(0.0, 0.1))
            out.writerow([time.strftime("%Y-%m-%dT%H:%MZ"), round(value, 1)])
