"""Holds the commands in the sentences and tables of pages against what there is: subcommands and options of `habitstore`, targets of make."""

import json
import re
import subprocess

SPAN = re.compile(r"`((?:habitstore|make) [^`]+)`")
# Alternatives, what may be left out, and whatever ends an invocation.
PUNCTUATION = re.compile(r"[\[\]]|\s\\?\|\s|,$")
END = re.compile(r"^(>|>>|<|2>|\||\|\||&&|;|…)$")


class Command:
    """A command or subcommand, as `--experimental-dump-help` describes it."""

    def __init__(self, description):
        self.subcommands = {each["commandName"]: Command(each) for each in description.get("subcommands", [])}
        names = [name for argument in description.get("arguments", []) for name in argument.get("names") or []]
        self.options = {("--" if name["kind"] == "long" else "-") + name["name"] for name in names} | {"--help", "--version"}
        # The one that is meant where none is named, as in `habitstore verify A B`.
        self.standard = self.subcommands.get(description.get("defaultSubcommand"))
        if self.standard:
            self.options |= self.standard.options

    def error(self, words):
        """The first word that the command does not understand, as a sentence; None where there is none."""
        if words and words[0] in self.subcommands:
            return self.subcommands[words[0]].error(words[1:])
        if words and self.subcommands and not self.standard and not words[0].startswith("-") and not words[0].isupper():
            return f"there is no subcommand {words[0]}"
        for word in words:
            if END.match(word):
                return None
            if word.startswith("--") and word.split("=")[0] not in self.options:
                return f"there is no option {word}"
        return None


def spans(path):
    """The commands in a page's sentences with their lines."""
    inside = False
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if line.strip().startswith("```"):
            inside = not inside
        if not inside:
            for found in SPAN.finditer(line):
                yield number, found[1]


def check(paths, root):
    """Returns what is wrong with the commands of articles, and how many there are."""
    dumped = subprocess.run(["habitstore", "--experimental-dump-help"], capture_output=True, text=True, check=True).stdout
    command = Command(json.loads(dumped)["command"])
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.M))
    wrong, count = [], 0
    for path in paths:
        for number, span in spans(path):
            count += 1
            program, *words = PUNCTUATION.sub(" ", span).split()
            if program == "make":
                unknown = [word for word in words if "=" not in word and word not in targets]
                error = f"there is no target {unknown[0]}" if unknown else None
            else:
                error = command.error(words)
            if error:
                wrong.append(f"{path.relative_to(root)}:{number}: error: `{span}`: {error}")
    return wrong, count
