"""Runs the shell examples of a page in their order, in one shell, and compares what is printed with what the page shows.

Each page begins with a fresh folder that holds what ships and a home folder that is empty; its paths below /tmp are its own. A command
may fail only if a comment in its block says so: `# exit code 1`, one for each command that fails, in their order.

The file Tests/Documentation/PAGE.prelude.sh sets up what a page stands on. In its comments:

    #: USER = ada            what the page calls USER is ada when it is run
    #: exit codes up to 2    commands of the page may fail in whatever state a user is in, but have to be understood
"""

import getpass
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import Counter

END, FAILED = "\x01", "\x02"
SECONDS = 300
SHIPPED = ("Alerts", "Examples", "Flags", "fixtures", "schemas")
# Why a block is not run, and what runs its commands instead. A new reason has to be added here.
REASONS = {
    "takes minutes of building": "CI runs `make run` and `make test`",
    "runs until it is stopped": "`make dashboard-test` starts the page's server",
    "is of an example package": "`make examples` and the tutorial build and run these",
    "needs the reader's own command": "nothing; a prelude in Swift compiles its declaration",
}
MARKERS = re.compile(r"figures vary$|where ([\w-]+) is installed$|not run: (.+)$")
# Ended by another process, as `head` and `kill` do.
ENDED = {128 + signal.SIGPIPE, 128 + signal.SIGTERM}
USAGE = 64


class Shell:
    """A shell in a fresh folder, with what it exports and starts until it is closed."""

    def __init__(self, root, environment):
        # Its path, and so those that commands print, has a name that nothing else begins with.
        self.scratch = tempfile.TemporaryDirectory(prefix="examples-")
        checkout, home = f"{self.scratch.name}/habitstore", f"{self.scratch.name}/home"
        os.mkdir(home)
        left_out = shutil.ignore_patterns(".build", "*-lock", "*-sound", "*-shm", "*-wal")
        for name in SHIPPED:
            shutil.copytree(root / name, f"{checkout}/{name}", ignore=left_out)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HABITSTORE_", "XDG_", "PG"))}
        self.process = subprocess.Popen(
            ["bash"],
            cwd=checkout,
            env={**kept, "HOME": home, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.run(f"set -o pipefail\ntrap 'printf \"{FAILED}%s\\n\" $?' ERR")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.scratch.cleanup()

    def run(self, commands):
        """What the commands print, and the exit codes of those that failed; None for them if the shell did not come to the end."""
        commands = re.sub(r"/tmp/", f"{self.scratch.name}/", commands)
        self.process.stdin.write(f"{commands}\nprintf '{END}\\n'\n")
        self.process.stdin.flush()
        # Commands that hang are ended, with the shell.
        watch = threading.Timer(SECONDS, os.killpg, (self.process.pid, signal.SIGTERM))
        watch.start()
        printed, failures, ended = [], [], False
        for line in self.process.stdout:
            line, end, _ = line.partition(END)
            text, failed, code = line.partition(FAILED)
            printed.append(text)
            if failed and int(code) not in ENDED:
                failures.append(int(code))
            if end:
                ended = True
                break
        watch.cancel()
        text = "".join(printed).replace(f"{self.scratch.name}/", "/tmp/").replace(f"by {getpass.getuser()}", "by root")
        return text, failures if ended else None


class Prelude:
    """What a page stands on."""

    def __init__(self, path):
        text = path.read_text() if path.exists() else ""
        self.commands = text
        self.highest = int(found[1]) if (found := re.search(r"^#: exit codes up to (\d+)$", text, re.M)) else None
        self.names = re.findall(r"^#: (.+?) = (.+)$", text, re.M)

    def filled_in(self, text):
        for name, value in self.names:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", value, text)
        return text


def comparable(text, varies):
    """The lines without what may be otherwise each time. Blanks in a row count as one, since columns are as wide as what is in them."""
    if varies:
        text = re.sub(r"\b[0-9a-f]{8}(?:[0-9a-f]{4})?\b", "HASH", text)
        text = re.sub(r"\d+", "0", text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.strip().split("\n")]


def matches(printed, expected):
    """Whether lines are as a page shows them. A line `…` of the page stands for any number of lines, and one that ends with it is cut."""
    if not expected:
        return not printed
    if expected[0] == "…":
        return any(matches(printed[count:], expected[1:]) for count in range(len(printed) + 1))
    if not printed:
        return False
    start, cut, _ = expected[0].partition("…")
    is_same = printed[0].startswith(start) if cut else printed[0] == expected[0]
    return is_same and matches(printed[1:], expected[1:])


def exclusion(block, path):
    """Why a block is not run; nil if it is run. Throws for a marker that nobody understands."""
    if not block.marker:
        return None
    if not (found := MARKERS.match(block.marker)):
        raise ValueError(f"'{block.marker}' is not a marker of commands")
    if found[2]:
        if found[2] not in REASONS:
            raise ValueError(f"'{found[2]}' is not among the reasons of scripts/documentation/shell.py: {', '.join(REASONS)}")
        return found[2]
    if found[1] and not shutil.which(found[1], path=path):
        return f"needs {found[1]}, which is not installed here"
    return None


def is_forgiven(failures, block, highest):
    """Whether commands failed as the page says."""
    if highest is not None:
        return all(code <= highest for code in failures)
    return failures == [int(code) for code in re.findall(r"#.*\bexit code (\d+)", "\n".join(block.lines))]


def check(page, root, environment):
    """Returns what went wrong, one text for each block, and how often blocks were run and not run, by reason."""
    wrong, counts = [], Counter()
    prelude = Prelude(root / f"Tests/Documentation/{page.title}.prelude.sh")
    with Shell(root, environment) as shell:
        printed, failures = shell.run(prelude.commands)
        if failures != []:
            return [f"{page.name}: error: its prelude failed:\n{printed}"], counts
        for block in page.all("sh"):
            try:
                reason = exclusion(block, environment["PATH"])
            except ValueError as error:
                wrong.append(f"{block.place}: error: {error}")
                continue
            counts[reason] += 1
            if reason:
                continue
            printed, failures = shell.run(prelude.filled_in("\n".join(block.lines)))
            if failures is None:
                wrong.append(f"{block.place}: error: the commands took longer than {SECONDS} seconds, or ended the shell:\n{printed}")
                break
            if not is_forgiven(failures, block, prelude.highest):
                wrong.append(f"{block.place}: error: commands failed with {failures}, and the page does not say so; printed was\n{printed}")
            if not block.printed:
                continue
            expected = "\n".join(block.printed.lines)
            varies = block.marker == "figures vary"
            if not matches(comparable(printed, varies), comparable(expected, varies)):
                wrong.append(f"{block.printed.place}: error: printed was\n{printed}")
    return wrong, counts
