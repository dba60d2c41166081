"""One meaning has one colour, whatever else a chart shows."""

from streamgauge.drawing.bar_charts import Bar, bar_chart
from streamgauge.drawing.themes import COLOURS


def colours_of(*parts: str) -> str:
    bars = [Bar(name="x", parts=dict.fromkeys(parts, 1.0), label="")]
    return bar_chart(bars, title="t", x_title="s", embedded=True)


def test_a_part_of_latency_has_its_colour_wherever_it_stands():
    look = f'class="{COLOURS["network"]}"'
    assert look in colours_of("network", "anything")
    assert look in colours_of("anything", "else", "network")


def test_latency_parts_have_different_colours():
    parts = ("service", "queueing", "transfer", "network", "batching", "wake-up", "window")
    assert len({COLOURS[part] for part in parts}) == len(parts)


def test_other_names_are_coloured_by_their_place():
    chart = colours_of("first", "second")
    assert 'class="dot dot-0"' in chart
    assert 'class="dot dot-1"' in chart


def test_bars_without_parts_look_alike_whatever_they_are_of():
    bars = [Bar(name=name, parts={name: 1.0}, label="") for name in ("one", "two")]
    chart = bar_chart(bars, title="t", x_title="s", embedded=True)
    assert chart.count('class="bar"') == 2
