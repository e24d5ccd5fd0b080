"""Finds the examples in articles and in doc comments: fenced blocks with their language, place and marker.

A marker is an HTML comment on the line before a block, or before the blank line before it, which no reader is shown:

    <!-- example: compiled only: REASON -->            compiled, and not run
    <!-- example: not compiled: REASON -->
    <!-- example: where MODULE can be imported -->     left out where it cannot
    <!-- example: inside TYPE -->                      members, without the type around them
    <!-- example: figures vary -->                     of shell commands: digits and hashes in what is printed may be others
    <!-- example: where COMMAND is installed -->       of shell commands: not run where it is not
    <!-- example: not run: REASON -->                  of shell commands; the reasons are in shell.py

Without one an example is compiled and run.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

# The folders of targets.
PARTS = ("Sources", "Tracker", "Lab")
FENCE = re.compile(r"```(\w*)$")
MARKER = re.compile(r"<!-- example: (.*) -->$")
COMMENT = re.compile(r"\s*/// ?(.*)$")


@dataclass
class Block:
    page: "Page"
    language: str
    line: int  # of the first line of its contents
    lines: list
    marker: str = ""
    printed: "Block | None" = None  # the block of text right after it

    @property
    def place(self):
        return f"{self.page.name}:{self.line}"


@dataclass
class Page:
    """A file with examples, which are one program: each sees what those before it declared."""

    path: Path
    name: str  # relative to the root
    blocks: list = field(default_factory=list)

    @property
    def title(self):
        """What its prelude is called, without the ending: `README.md`, `ThirdEngine-README.md`, `Filter`."""
        stem = self.path.name.removesuffix(".swift")
        parent = self.path.parent.name
        return f"{parent}-{stem}" if stem == "README.md" and "/" in self.name else stem

    @property
    def module(self):
        """The library that the page is about."""
        parts = Path(self.name).parts
        return parts[1] if parts[0] in PARTS else None

    def all(self, language):
        return [block for block in self.blocks if block.language == language]


class Malformed(Exception):
    pass


def text_lines(path):
    """The lines of an article; of a Swift file its doc comments, other lines being None."""
    lines = path.read_text().split("\n")
    if path.suffix != ".swift":
        return lines
    matches = [COMMENT.match(line) for line in lines]
    return [match and match[1] for match in matches]


def read_page(path, root):
    page = Page(path, str(path.relative_to(root)))
    lines = text_lines(path)
    marker, last, number = "", None, 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if line is None:
            marker, last = "", None
            continue
        if found := MARKER.match(line.strip()):
            marker, last = found[1], None
            continue
        if not (fence := FENCE.match(line.strip())):
            if line.strip():
                marker, last = "", None
            continue
        indent = len(line) - len(line.lstrip())
        end = number
        while end < len(lines) and (lines[end] is None or lines[end].strip() != "```"):
            end += 1
        if end == len(lines):
            raise Malformed(f"{page.name}:{number}: error: the block has no end")
        contents = [(inner or "")[indent:] for inner in lines[number:end]]
        block = Block(page, fence[1], number + 1, contents, marker)
        if block.language == "text" and last:
            last.printed = block
        page.blocks.append(block)
        marker, last, number = "", block, end + 1
    return page


def articles(root):
    """All articles but the changelog."""
    found = [root / "README.md", root / "CONTRIBUTING.md", root / "SECURITY.md"]
    patterns = ["Sources/*/*.docc/*.md", "Tracker/*/*.docc/*.md", "*/README.md", "Examples/*/README.md"]
    return found + [path for pattern in patterns for path in sorted(root.glob(pattern))]


def pages(root):
    """All pages that have blocks, articles first."""
    sources = [path for part in PARTS for path in sorted(root.glob(f"{part}/*/**/*.swift"))]
    found = [read_page(path, root) for path in articles(root) + sources]
    return [page for page in found if page.blocks]
