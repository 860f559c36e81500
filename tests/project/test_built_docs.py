"""The documentation as HTML: links, and what its search finds. `make docs` builds it."""

import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest

from tests.helpers.pages import wait_for
from tests.helpers.paths import DOCS, page_paths

HTML = DOCS / "_build/html"
WORDS = tomllib.loads((DOCS / "search_words.toml").read_text(encoding="utf-8"))
#: Made by Sphinx from other files, or reached through a form.
GENERATED = {"search.html", "py-modindex.html", "genindex.html"}
#: A copy of the playground, which is not a page of the documentation.
PLAYGROUND = "train_in_browser.html"

pytestmark = pytest.mark.skipif(
    not HTML.exists(), reason="needs the built documentation: make docs"
)


class Page(HTMLParser):
    """The links and anchors of a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        self.links |= {values[name] for name in ("href", "src") if values.get(name)}


@pytest.fixture(scope="module")
def pages():
    paths = sorted(HTML.rglob("*.html"))
    skipped = {PLAYGROUND, "card.html"}
    return {path: Page(path) for path in paths if path.name not in skipped}


def local_links(path, page):
    """Return the files and anchors that a page links to; None where there is no anchor."""
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        yield link, target, unquote(parts.fragment)


def test_links_lead_to_files_and_anchors(pages):
    wrong = [
        f"{path.name}: {link}"
        for path, page in pages.items()
        for link, target, anchor in local_links(path, page)
        if target.name != PLAYGROUND  # which needs another compiler
        if not target.exists()
        or (anchor and target in pages and anchor not in pages[target].anchors)
    ]
    assert wrong == []


def test_every_page_is_reached_from_the_first(pages):
    reached, waiting = set(), [HTML / "index.html"]
    while waiting:
        path = waiting.pop()
        if path in pages and path not in reached:
            reached.add(path)
            waiting += [target for _, target, _ in local_links(path, pages[path])]
    missing = {path.name for path in set(pages) - reached}
    assert missing <= GENERATED


def test_the_list_for_language_models_has_all_pages():
    text = (HTML / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"(?m)^- \[.+\]\((.+)\)$", text)
    assert "assistants" in links[0]
    assert len(links) == len(set(links)) == len(page_paths()) - 1  # without the index
    assert [link for link in links if not (HTML / link).is_file()] == []


def test_words_of_the_search_are_those_of_one_page():
    words = [word for words in WORDS.values() for word in words]
    assert len(words) == len(set(words)) and all(word == word.lower() for word in words)
    assert all((DOCS / f"{page}.md").exists() for page in WORDS)


def found(browser, query):
    """Return the pages that the search lists, best first."""
    browser.open_address(f"{(HTML / 'search.html').as_uri()}?q={quote(query)}")
    wait_for(
        browser,
        "/found|did not match/.test(document.querySelector('.search-summary')?.textContent)",
    )
    links = browser.run(
        "return [...document.querySelectorAll('ul.search > li > a')].map(a => a.href)"
    )
    return [Path(urlsplit(link).path).stem for link in links]


@pytest.mark.parametrize("page", WORDS)
def test_the_search_lists_the_page_that_answers_at_the_top(browser, page):
    """Among the first three, which are seen without scrolling."""
    assert [word for word in WORDS[page] if page not in found(browser, word)[:3]] == []
