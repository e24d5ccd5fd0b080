#!/usr/bin/env python3
"""Runs the commands of all pages: commands.py ROOT BINARIES

Every `sh` block is run, in a fresh folder, unless a marker says why not; the reasons are in shell.py. Commands in sentences are held
against what `habitstore` understands. BINARIES is the folder of a built `habitstore`.
"""

import concurrent.futures
import os
import sys
from collections import Counter
from pathlib import Path

import blocks
import sentences
import shell

OTHER_NAMES = ("bash", "console", "shell", "zsh")


def main(root, binaries):
    errors, counts = [], Counter()
    pages = [page for page in blocks.pages(root) if page.blocks]
    for block in [block for page in pages for block in page.blocks]:
        if block.language in OTHER_NAMES:
            errors.append(f"{block.place}: error: write sh for {block.language}")
        elif block.marker and block.language not in ("sh", "swift"):
            errors.append(f"{block.place}: error: '{block.marker}' is before a block that is neither Swift nor commands")
    os.environ["PATH"] = f"{binaries}:{os.environ['PATH']}"
    if promtool := os.environ.get("HABITSTORE_PROMTOOL"):
        os.environ["PATH"] += f":{Path(promtool).parent}"
    environment = {"PATH": os.environ["PATH"]}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        checked = pool.map(lambda page: shell.check(page, root, environment), [page for page in pages if page.all("sh")])
        for wrong, reasons in checked:
            errors += wrong
            counts += reasons
    wrong, spelled = sentences.check(blocks.articles(root), root)
    errors += wrong
    print(*errors, sep="\n")
    print(f"{counts.pop(None, 0)} blocks of commands were run, {spelled} commands in sentences are understood, {len(errors)} errors")
    for reason, count in counts.most_common():
        print(f"{count} not run: {reason} ({shell.REASONS.get(reason, 'nothing runs them')})")
    return 1 if errors else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*(Path(path).resolve() for path in sys.argv[1:3])))
    except blocks.Malformed as error:
        sys.exit(str(error))
