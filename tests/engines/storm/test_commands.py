"""Commands for a Storm cluster, as a shell sees them."""

import shlex

from hypothesis import given
from hypothesis import strategies as st

from streamgauge.engines.storm.applying import apply_command, rebalance_command


def test_names_are_quoted_for_the_shell():
    words = rebalance_command("top; rm x", executors={"a b": 2, "$c": 3})
    told = shlex.join(words)
    assert told == "storm rebalance 'top; rm x' -e 'a b=2' -e '$c=3'"


@given(st.dictionaries(st.text(min_size=1), st.integers(1, 9), max_size=3), st.text(min_size=1))
def test_a_shell_sees_the_words_that_were_meant(executors, name):
    words = rebalance_command(name, workers=4, executors=executors)
    assert tuple(shlex.split(shlex.join(words))) == words


def test_a_plan_file_is_applied_by_a_command_of_ours():
    assert shlex.join(apply_command("my plan.yaml")) == "streamgauge storm apply 'my plan.yaml'"
