"""Makes orders.csv: two weeks of made-up traffic, for trying out forecasts and outlooks.

Nothing of it was measured. Days have a low at night, a small peak before noon and a high one in
the evening; weekends are quieter; the level grows by 2 % a day; and every value has 3 % of noise
that resembles its neighbours'. It ends at 13:00 of a Saturday's eve, before the evening peak.
"""

import csv
import math
import random
import sys
from datetime import UTC, datetime, timedelta

START, STEP, STEPS = datetime(2026, 11, 6, tzinfo=UTC), timedelta(minutes=15), 14 * 96 + 52

noise = random.Random(21)
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["time", "value"])
wander = 0.0
for at in range(STEPS):
    time = START + at * STEP
    hour = time.hour + time.minute / 60.0
    day = 0.55 + 0.35 * math.exp(-(((hour - 11.0) / 3.0) ** 2))
    day += 0.85 * math.exp(-(((hour - 19.5) / 2.2) ** 2)) - 0.3 * math.exp(-(((hour - 4) / 3) ** 2))
    week = 0.8 if time.weekday() >= 5 else 1.0
    wander = 0.8 * wander + 0.6 * noise.gauss(0.0, 0.03)
    out.writerow(
        [
            time.strftime("%Y-%m-%dT%H:%MZ"),
            round(345 * day * week * 1.02 ** (at / 96) * (1 + wander), 1),
        ]
    )
