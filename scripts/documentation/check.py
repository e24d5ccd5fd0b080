#!/usr/bin/env python3
"""Compiles and runs the examples in articles and doc comments: check.py ROOT BUILD_FOLDER SWIFT [FLAGS…]

What they stand on that is not worth showing, a store or a model, is in Tests/Documentation, a file for each page by the page's name.
How a block says that it is not run, and why, is in blocks.py. The package that is made of them is in .build/documentation.
"""

import concurrent.futures
import subprocess
import sys
from pathlib import Path

import blocks
import package

FORMS = ("compiled only: ", "not compiled: ", "where ", "inside ")


def malformed(pages, root):
    """Markers that nobody understands, and preludes of no page."""
    for page in pages:
        for block in page.all("swift"):
            if block.marker and not block.marker.startswith(FORMS):
                yield f"{block.place}: error: '{block.marker}' is not among {', '.join(FORMS)}"
    titles = [page.title for page in pages]
    for path in sorted((root / "Tests/Documentation").glob("*.swift")):
        title = path.name.removesuffix(".prelude.swift")
        if titles.count(title) != 1:
            yield f"{path}: error: {titles.count(title)} pages are called so; it has to be one"


def main(root, scratch, swift, flags):
    pages = [page for page in blocks.pages(root) if page.all("swift")]
    errors = list(malformed(pages, root))
    folder = root / ".build/documentation"
    files = package.generate(root, pages, folder)
    build = [swift, "build", "--package-path", folder, "--scratch-path", scratch, "--product", "Documented", *flags]
    if subprocess.run(build).returncode != 0:
        errors.append("error: the examples do not compile")
    else:
        where = subprocess.run([*build, "--show-bin-path"], capture_output=True, text=True, check=True).stdout.strip()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            run = lambda numbered: package.run(f"{where}/Documented", numbered[0], numbered[1][0])
            for wrong in pool.map(run, enumerate(files)):
                errors += wrong
        errors += package.run_tests(f"{where}/Documented", files)
    count = sum(file.count for _, file in files)
    print(*errors, f"{count} examples in {len(pages)} pages, {len(errors)} errors", sep="\n")
    return 1 if errors else 0


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3], sys.argv[4:]))
    except blocks.Malformed as error:
        sys.exit(str(error))
