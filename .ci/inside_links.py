"""Say which links inside a built site lead nowhere: files and places in them.

``python .ci/inside_links.py doc/_build/html``. Sphinx checks what it resolves itself;
this also sees what themes, galleries and raw HTML write. Needs no network.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

# Attributes that hold an address, and those that hold the name of a place.
ADDRESSES = {"href", "src"}
PLACES = {"id", "name"}

# Written at the time of reading: Sphinx highlights the source of a module there.
SKIPPED = ("_modules/", "_static/")


class Page(HTMLParser):
    """The links and places of one page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = set(), {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Take note of addresses and places."""
        for name, value in attrs:
            if name in ADDRESSES and value:
                self.links.add(value)
            elif name in PLACES and value:
                self.places.add(value)


def broken_links(folder):
    """Yield page and link for each that leads nowhere."""
    pages = {path: Page(path.read_text()) for path in folder.rglob("*.html")}
    for path, page in pages.items():
        name = path.relative_to(folder).as_posix()
        if name.startswith(SKIPPED):
            continue
        for link in sorted(page.links):
            address, place = urldefrag(link)
            if urlparse(address).scheme or address.startswith("//"):
                continue
            target = (path.parent / unquote(urlparse(address).path)).resolve()
            target = path.resolve() if not address else target
            if target.is_dir():
                target /= "index.html"
            page_there = pages.get(target)
            is_lost = page_there and unquote(place) not in page_there.places
            if is_lost or not target.exists():
                yield name, link


def main():
    """Print the broken links; fail if there are any."""
    folder = Path(sys.argv[1]).resolve()
    found = list(broken_links(folder))
    for name, link in found:
        print(f"{name}: {link}")
    print(f"{len(found)} links inside the site lead nowhere.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
