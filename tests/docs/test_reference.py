"""The reference page says what the docstrings say."""

from scripts.reference import render_reference


def test_the_reference_page_is_what_the_docstrings_say(project):
    page = (project / "docs/reference.md").read_text()
    assert page == render_reference(), "run `make reference`"
