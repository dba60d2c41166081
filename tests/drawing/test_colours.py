"""One meaning has one colour, whatever else a chart shows."""

import re

from streamgauge.drawing.bar_charts import Bar, draw_bar_chart
from streamgauge.drawing.svg import COLOURS, page_style


def colours_of(*parts: str) -> str:
    bars = [Bar(name="x", parts=dict.fromkeys(parts, 1.0), label="")]
    return draw_bar_chart(bars, title="t", x_title="s", embedded=True)


def test_a_part_of_latency_has_its_colour_wherever_it_stands():
    look = f'class="{COLOURS["network"]}"'
    assert look in colours_of("network", "anything")
    assert look in colours_of("anything", "else", "network")


def test_latency_parts_have_different_colours():
    parts = (
        "service",
        "queueing",
        "transfer",
        "network",
        "batching",
        "wake-up",
        "window",
        "source",
    )
    assert len({COLOURS[part] for part in parts}) == len(parts)


def test_other_names_are_coloured_by_their_place():
    chart = colours_of("first", "second")
    assert 'class="dot dot-0"' in chart
    assert 'class="dot dot-1"' in chart


def test_bars_without_parts_look_alike_whatever_they_are_of():
    bars = [Bar(name=name, parts={name: 1.0}, label="") for name in ("one", "two")]
    chart = draw_bar_chart(bars, title="t", x_title="s", embedded=True)
    assert chart.count('class="bar"') == 2


def test_plans_show_distances_in_the_colours_of_charts():
    """A line's stroke in a plan is the fill of the bar that means the same, on paper and screen."""
    style = page_style()
    pairs = {"local": "local", "inter-local": "inter-worker", "remote": "remote"}
    for line, meaning in pairs.items():
        bar = COLOURS[meaning].split()[-1]
        for prefix in ("\n.", "\n.picture ."):
            stroke = re.search(rf"{re.escape(prefix)}{line} {{ stroke: (#\w+)", style)[1]
            fill = re.search(rf"{re.escape(prefix)}{bar} {{ fill: (#\w+)", style)[1]
            assert stroke == fill


def test_everything_that_is_filled_has_its_colour_on_a_dark_screen():
    dark = page_style().partition("prefers-color-scheme: dark")[2]
    heat = [f"heat-{side}-{level}" for side in ("under", "over") for level in (1, 2, 3)]
    for kind in ("node", "worker", "chip", "box", "heat-0", "heat-none", *heat):
        assert f".picture .{kind} {{ fill: #" in dark
