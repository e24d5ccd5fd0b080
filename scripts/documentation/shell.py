"""Runs the shell examples of a page in the order in which they stand, in one shell, and compares what is printed with what the page says.

Folders below /tmp are others, which are new. Blanks in a row count as one, since columns are as wide as what is in them.
"""

import getpass
import os
import re
import signal
import subprocess
import tempfile
import threading

END = "\x01"
SECONDS = 300


class Shell:
    """A shell that begins in a folder, with what it exports and starts until it is closed."""

    def __init__(self, folder, environment=None):
        # Its path, and so those that commands print, has a name that nothing else begins with.
        self.scratch = tempfile.TemporaryDirectory(prefix="examples-")
        self.process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

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
        """What the commands print, and the exit code of the last one."""
        commands = re.sub(r"/tmp/", f"{self.scratch.name}/", commands)
        self.process.stdin.write(f"{commands}\nprintf '{END}%s\\n' $?\n")
        self.process.stdin.flush()
        # Commands that hang are ended, with the shell.
        watch = threading.Timer(SECONDS, os.killpg, (self.process.pid, signal.SIGTERM))
        watch.start()
        lines, status = [], None
        for line in self.process.stdout:
            text, end, code = line.partition(END)
            if text:
                lines.append(text)
            if end:
                status = int(code)
                break
        watch.cancel()
        return "".join(lines).replace(f"{self.scratch.name}/", "/tmp/").replace(f"by {getpass.getuser()}", "by root"), status


def comparable(text, varies):
    """The lines without what may be otherwise each time."""
    if varies:
        text = re.sub(r"\b[0-9a-f]{12}\b", "HASH", text)
        text = re.sub(r"\d+", "0", text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.strip().split("\n")]


def check(page, root, environment):
    """Returns what went wrong, one line for each example."""
    wrong = []
    with Shell(root, environment) as shell:
        for block in page.all("sh"):
            printed, status = shell.run("\n".join(block.lines))
            if status is None:
                return wrong + [f"{block.place}: error: the commands took longer than {SECONDS} seconds, or ended the shell:\n{printed}"]
            if not block.printed:
                continue
            expected = "\n".join(block.printed.lines)
            varies = block.marker == "figures vary"
            if comparable(printed, varies) != comparable(expected, varies):
                wrong.append(f"{block.printed.place}: error: printed was\n{printed}")
    return wrong
