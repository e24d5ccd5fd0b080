#!/usr/bin/env python3
"""Writes a DocC tutorial as a Markdown page, which code hosts show: tutorial_page.py TUTORIAL PAGE [--check]

Each step shows the whole file that it writes, or the lines that its terminal gains. With --check it only compares the page with the
tutorial, and fails if they differ.
"""

import re
import sys
from pathlib import Path

TITLE = re.compile(r'@(Intro|Section)\(title: "([^"]+)"\)')
CODE = re.compile(r'@Code\(name: "([^"]+)", file: "([^"]+)"\)')
# DocC shows a terminal with all that it printed so far, the page only what is new.
GROWS = " Where a terminal is shown, its last lines are new."
DIRECTIVE = re.compile(r"^\s*(@\w+(\(.*\))? \{|\}|@Tutorial.*)$")
LANGUAGES = {".swift": "swift", ".json": "json"}


def paragraphs(lines):
    """Joins the lines of each paragraph, as the width of a Markdown page is the reader's."""
    return [" ".join(line.strip() for line in block.split("\n")) for block in "\n".join(lines).strip().split("\n\n") if block.strip()]


def page_of(tutorial):
    files = {path.name: path.read_text().rstrip("\n") for path in tutorial.parent.rglob("*") if path.suffix in {".swift", ".json", ".txt"}}
    page, text, shown, section, step = [], [], {}, 0, 0
    for line in tutorial.read_text().split("\n"):
        if title := TITLE.search(line):
            if title[1] == "Intro":
                page += [f"# {title[2]}"]
            else:
                page += paragraphs(text)
                text, section, step = [], section + 1, 0
                page += [f"## {section}. {title[2]}"]
        elif code := CODE.search(line):
            name, content = code[1], files[code[2]]
            page += paragraphs(text)
            text = []
            if name.startswith("Terminal"):
                before, shown[name] = shown.get(name, ""), content
                page += [f"*{name}*", f"```console\n{content.removeprefix(before).lstrip()}\n```"]
            else:
                page += [f"`{name}`", f"```{LANGUAGES[Path(name).suffix]}\n{content}\n```"]
        elif line.strip() == "@Step {":
            page += paragraphs(text)
            text, step = [], step + 1
            page += [f"**Step {section}.{step}**"]
        elif DIRECTIVE.match(line):
            text.append("")
        else:
            text.append(line.strip())
    return "\n\n".join(page + paragraphs(text)).replace(GROWS, "") + "\n"


def main(tutorial, page, is_check):
    written = page_of(tutorial)
    if not is_check:
        page.write_text(written)
    elif not page.exists() or page.read_text() != written:
        sys.exit(f"{page}:1: error: it differs from {tutorial}; `make tutorial-page` rewrites it")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), "--check" in sys.argv[3:])
