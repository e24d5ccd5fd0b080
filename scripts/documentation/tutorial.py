#!/usr/bin/env python3
"""Follows a tutorial word by word: tutorial.py ROOT TUTORIAL EXAMPLE BUILD_FOLDER

It takes the `@Code` of the tutorial's steps in their order. One that is called Terminal… is what stands in that terminal by then:
what is new in it since the step before, lines that begin with `$ ` are typed there, `^C` interrupts, and the others have to be printed.
Any other is written to the file that it is named after, in a folder that is empty at first. In the end that folder has to hold
what EXAMPLE holds, but for the address of this package, and for its README and the page of the tutorial.
"""

import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

CODE = re.compile(r'@Code\(name:\s*"([^"]+)",\s*file:\s*"?([\w.-]+)"?')
# Where the tutorial has its reader keep a clone of this package.
CLONE = "../habitstore"
SECONDS = 900


class Wrong(Exception):
    pass


def descendants(process):
    """The processes that a process has started, and theirs, as far as they are there."""
    children = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True).stdout.split()
    return [each for child in map(int, children) for each in [child, *descendants(child)]]


class Terminal:
    """A shell, and what was typed and printed in it so far. Standard error, where builds report, is kept for the case of a failure."""

    def __init__(self, folder, scratch):
        self.lines, self.shown = queue.Queue(), []
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            ["bash"], cwd=folder, env={**os.environ, "SWIFTPM_BUILD_DIR": str(scratch)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            start_new_session=True,
        )
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip())

    def show(self, path):
        """Brings the terminal to what stands in a file."""
        wanted = path.read_text().rstrip("\n").split("\n")
        if wanted[:len(self.shown)] != self.shown:
            raise Wrong(f"{path}:1: error: it does not begin with what stood in the terminal before")
        for number, line in enumerate(wanted[len(self.shown):], len(self.shown) + 1):
            if line.startswith("$ "):
                self.process.stdin.write(line[2:] + "\n")
                self.process.stdin.flush()
            elif line == "^C":
                for child in descendants(self.process.pid):
                    os.kill(child, signal.SIGINT)
            else:
                self.expect(line, f"{path}:{number}")
        self.shown = wanted

    def expect(self, line, place):
        try:
            printed = self.lines.get(timeout=SECONDS)
        except queue.Empty:
            raise Wrong(f"{place}: error: nothing is printed{self.reported()}")
        if re.sub(r"\s+", " ", printed) != re.sub(r"\s+", " ", line):
            raise Wrong(f"{place}: error: printed was\n{printed}{self.reported()}")

    def settle(self, place):
        """Waits until the last command has ended, and wants nothing more to be printed."""
        self.process.stdin.write("printf '\\001\\n'\n")
        self.process.stdin.flush()
        self.expect("\x01", place)

    def reported(self):
        self.errors.seek(0)
        return "\nand on standard error:\n" + self.errors.read()[-4000:]

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def contents(folder, clone):
    """The files of a package, without what is built, kept or written about it."""
    left_out = re.compile(r"(^|/)(\.build|data|README\.md|TUTORIAL\.md|Package\.resolved)(/|$)")
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {
        name: (folder / name).read_text().replace(clone, CLONE)
        for name in names if not left_out.search(name)
    }


def follow(root, tutorial, folder, scratch):
    # The package is built where the examples were: its own folder would take this package's first build once more.
    files = {path.name: path for path in tutorial.parent.rglob("*")}
    terminals = {}
    steps = CODE.findall(tutorial.read_text())
    try:
        for index, (name, file) in enumerate(steps):
            if name.startswith("Terminal"):
                if name not in terminals:
                    terminals[name] = Terminal(folder, scratch)
                terminals[name].show(files[file])
                # What goes on in one terminal while the next step is done in another is not waited for.
                if not any(other.startswith("Terminal") and other != name for other, _ in steps[index + 1:index + 2]):
                    terminals[name].settle(files[file])
            else:
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(files[file].read_text().replace(CLONE, str(root)))
    finally:
        for terminal in terminals.values():
            terminal.end()
    return len(steps)


def lint(tutorial):
    """Has DocC read the folder of the tutorial, alone, and take each warning for an error."""
    docc = Path(shutil.which("swift")).resolve().parent / "docc"
    with tempfile.TemporaryDirectory() as name:
        catalogue = Path(name) / "Tutorials.docc"
        shutil.copytree(tutorial.parent, catalogue)
        names = ["--fallback-display-name", "HabitStore", "--fallback-bundle-identifier", "org.habitstore.HabitStore"]
        command = [docc, "convert", catalogue, *names, "--warnings-as-errors", "--output-path", Path(name) / "out"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Wrong(f"{tutorial}:1: error: DocC does not take it:\n{done.stdout}{done.stderr}")


def main(root, tutorial, example, scratch):
    lint(tutorial)
    with tempfile.TemporaryDirectory(prefix="tutorial-") as name:
        folder = Path(name)
        count = follow(root, tutorial, folder, scratch)
        made, kept = contents(folder, str(root)), contents(example, "../..")
    for name in sorted(made.keys() | kept.keys()):
        if made.get(name) != kept.get(name):
            raise Wrong(f"{example}/{name}: error: the tutorial ends with another file of this name, or without one")
    print(f"{count} steps of {tutorial.name}, and {len(kept)} files of {example.name} as it leaves them")


if __name__ == "__main__":
    try:
        main(*(Path(path).resolve() for path in sys.argv[1:5]))
    except Wrong as error:
        sys.exit(str(error))
