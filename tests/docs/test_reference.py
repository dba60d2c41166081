"""The reference page says what the docstrings say."""

from scripts.reference import render_policies, render_reference


def test_the_reference_page_is_what_the_docstrings_say(project):
    page = (project / "docs/reference.md").read_text()
    assert page == render_reference(), "run `make reference`"


def test_the_page_of_policies_is_what_their_docstrings_say(project):
    page = (project / "docs/policies.md").read_text()
    assert page == render_policies(), "run `make reference`"
