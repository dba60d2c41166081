"""Reading pages in tests: parts of them by what they are, and whether they are well formed."""

from html.parser import HTMLParser
from xml.etree import ElementTree


def parsed(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(page)


def words(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def table(page: str, caption: str) -> dict[str, dict[str, str]]:
    """Cells of the table with that caption, by the names of its rows and columns."""
    for element in parsed(page).iter("table"):
        if words(element.find("caption")) == caption:
            columns = [(th.text or "").strip() for th in element.find("thead").iter("th")]
            rows = [list(row) for body in element.iter("tbody") for row in body]
            return {
                words(row[0]): dict(zip(columns, map(words, row), strict=True))
                for row in rows
                if len(row) == len(columns)
            }
    raise AssertionError(f"no table {caption}")


def verdict(page: str) -> str:
    return words(next(div for div in parsed(page).iter("div") if "verdict" in div.get("class", "")))


class Balanced(HTMLParser):
    """Whether every element of a page is closed where it should be."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
