#!/usr/bin/env python3
"""Prints which target, and which folder of a target, refers to which, and where they form cycles: house.py [ROOT] [--check]

It reads the Swift sources as text. A reference is the name of a type, or of a member with a capital letter inside (`fetchCount`),
that exactly one file declares among those the referring file can see: its own target, and the targets that it imports. What has no
such name (operators, `init`, members that several files declare) is not counted: the figures are too low rather than too high.

In a matrix rows refer to columns. Rows are ordered so that few references run upwards; those are left of the diagonal, in bold.

With --check it prints only the cycles that CONTRIBUTING.md does not explain, and those it explains that are gone, and fails if there
are any. A cycle is explained by a line such as "- `HabitStore`: Live, Store: why", or "- targets: A, B: why".
"""

import argparse
import re
import signal
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

TYPES = {"struct", "class", "enum", "actor", "protocol", "extension"}
ALIASES = {"typealias", "associatedtype"}
UNNAMED = {"init", "deinit", "subscript"}
MEMBERS = {"func", "var", "let", "case"} | UNNAMED
ACCESS = {"public", "open", "package", "private", "fileprivate", "internal"}
TOKEN = re.compile(r"`?([A-Za-z_]\w*)`?|\d[\w.]*|[^\s\w]")
LITERAL = re.compile(r'(#*)("""|")')
INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]")
# Members of the standard library and Foundation that a project is likely to declare once more.
COMMON = set(
    "firstIndex lastIndex isEmpty removeAll removeFirst removeLast popLast dropFirst dropLast allSatisfy compactMap "
    "flatMap forEach hasPrefix hasSuffix reserveCapacity withUnsafeBytes withUnsafeBufferPointer withLock hashValue "
    "localizedDescription debugDescription rawValue startIndex endIndex removeValue removeSubrange replaceSubrange "
    "makeIterator baseAddress errorDescription loadUnaligned copyBytes isASCII upperBound lowerBound keyPaths".split()
)
# The folders of targets.
PARTS = ("Sources", "Tracker", "Lab")
EXPLAINED = re.compile(r"^- (?:`(\w+)`|targets): ([\w/.]+(?:, [\w/.]+)+): ")
# The most pairs of files that are listed for two folders.
MOST_PAIRS = 8


@dataclass(frozen=True)
class Token:
    text: str
    is_name: bool


@dataclass
class Source:
    target: str
    folder: str
    path: str
    tokens: list[Token]
    imports: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    members: dict[str, str] = field(default_factory=dict)  # by name, the access


# MARK: Reading


def tokens_of(text: str) -> list[Token]:
    """The names and punctuation of a source; comments and literals are left out, what is interpolated is kept."""
    tokens: list[Token] = []
    at, parentheses, length = 0, 0, len(text)
    interpolations: list[tuple[str, str, int]] = []  # the literals around this place, and how deep each began

    def skip_literal(at: int, close: str, hashes: str) -> int:
        """Goes to the literal's end, or into the next interpolation in it."""
        nonlocal parentheses
        while at < length:
            if text.startswith(close, at):
                tokens.append(Token('""', False))
                return at + len(close)
            if text[at] != "\\" or not text.startswith(hashes, at + 1):
                at += 1
                continue
            at += 1 + len(hashes)
            if text.startswith("(", at):
                interpolations.append((close, hashes, parentheses))
                parentheses += 1
                return at + 1
            at += 1
        return length

    while at < length:
        if text.startswith("//", at):
            end = text.find("\n", at)
            at = length if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at)
            at = length if end < 0 else end + 2
        elif opening := LITERAL.match(text, at):
            hashes, quote = opening.groups()
            at = skip_literal(opening.end(), quote + hashes, hashes)
        elif text[at] == ")" and interpolations and interpolations[-1][2] == parentheses - 1:
            parentheses -= 1
            close, hashes, _ = interpolations.pop()
            at = skip_literal(at + 1, close, hashes)
        elif match := TOKEN.match(text, at):
            name = match.group(1)
            tokens.append(Token(name or match.group(), name is not None))
            parentheses += (match.group() == "(") - (match.group() == ")")
            at = match.end()
        else:
            at += 1
    return tokens


def declare(source: Source) -> None:
    """Finds what a source imports, and what types and members it declares."""
    tokens = source.tokens
    scopes: list[str] = []  # what each open brace belongs to: type, body, other
    pending, pending_depth, depth, access = None, 0, 0, "internal"
    at = 0

    def text(offset: int) -> str:
        return tokens[at + offset].text if 0 <= at + offset < len(tokens) else ""

    while at < len(tokens):
        token = tokens[at]
        inside = scopes[-1] if scopes else "file"
        is_word = token.is_name and text(-1) != "."
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if token.text == "{":
            belongs = pending if pending and depth == pending_depth else None
            scopes.append(belongs or "other")
            pending = None if belongs else pending
        elif token.text == "}":
            pending = None
            if scopes:
                scopes.pop()
        elif is_word and token.text == "import" and inside == "file":
            source.imports.add(text(2) if text(1) in TYPES | {"func", "var"} else text(1))
        elif is_word and token.text in ACCESS and inside in ("file", "type"):
            access = token.text if text(1) != "(" else access
        elif is_word and token.text == "class" and text(1) in MEMBERS:
            pass
        elif is_word and token.text in TYPES | ALIASES and at + 1 < len(tokens) and tokens[at + 1].is_name:
            end = 2
            while text(end) == ".":
                end += 2
            # A nested type with a plain name, such as `Element`, is not the only one of that name.
            if token.text != "extension" and (inside == "file" or INNER_CAPITAL.search(text(end - 1))):
                source.types.add(text(end - 1))
            if token.text in TYPES:
                pending, pending_depth = "type", depth
            access, at = "internal", at + end - 1
        elif is_word and token.text in MEMBERS and inside in ("file", "type"):
            if token.text not in ("let", "case"):
                pending, pending_depth = "body", depth
            source.members.setdefault(token.text if token.text in UNNAMED else text(1), access)
            while token.text == "case" and text(2) == ",":
                at += 2
                source.members.setdefault(text(1), access)
            access = "internal"
        at += 1


def read(root: Path) -> list[Source]:
    sources = []
    for file in sorted(file for part in PARTS for file in (root / part).rglob("*.swift")):
        target, *folders, _ = file.relative_to(root).parts[1:]
        # A tutorial's files are its reader's.
        if any(folder.endswith(".docc") for folder in folders):
            continue
        text = file.read_text(encoding="utf-8")
        sources.append(Source(target, "/".join(folders) or ".", str(file.relative_to(root)), tokens_of(text)))
        declare(sources[-1])
    return sources


# MARK: References


def references(sources: list[Source]) -> dict[tuple[str, str], Counter]:
    """From each file to each other: the names that it uses of it, and how often."""
    types, members = defaultdict(list), defaultdict(list)
    for source in sources:
        for name in source.types:
            types[name].append(source)
        for name, access in source.members.items():
            if INNER_CAPITAL.search(name) and name not in COMMON and access not in ("private", "fileprivate"):
                members[name].append(source)
    found: dict[tuple[str, str], Counter] = defaultdict(Counter)
    for source in sources:
        for at, token in enumerate(source.tokens):
            before = source.tokens[at - 1].text if at else ""
            after = source.tokens[at + 1].text if at + 1 < len(source.tokens) else ""
            is_of_swift = before == "." and source.tokens[at - 2].text == "Swift"
            if not token.is_name or before == "import" or is_of_swift:
                continue
            candidates = types.get(token.text)
            is_type = candidates is not None
            if not is_type:
                is_use = before not in MEMBERS and (before == "." or after == "(")
                candidates = members.get(token.text, []) if is_use and token.text not in source.members else []
            own = [c for c in candidates if c.target == source.target]
            imported = [c for c in candidates if c.target in source.imports]
            visible = own if is_type and own else own + imported
            if len(visible) == 1 and visible[0] is not source:
                found[source.path, visible[0].path][token.text] += 1
    return found


Edges = dict[tuple[str, str], int]


def between(found: dict[tuple[str, str], Counter], place: dict[str, str]) -> Edges:
    """References summed up by the place of a file: its target, or its folder. Those inside of one are left out."""
    sums: Counter = Counter()
    for (a, b), names in found.items():
        if a in place and b in place and place[a] != place[b]:
            sums[place[a], place[b]] += sum(names.values())
    return dict(sums)


def cycles(edges: Edges) -> list[list[str]]:
    """The sets of places that all reach each other (Tarjan)."""
    following = defaultdict(list)
    for a, b in edges:
        following[a].append(b)
    number, low, stack, found = {}, {}, [], []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in following[node]:
            if other not in number:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted({n for edge in edges for n in edge}):
        if node not in number:
            visit(node)
    return found


def layers(edges: Edges) -> list[str]:
    """An order, from the top down, that few references run against: greedy, then improved by moving single places."""
    order, rest = [], sorted({n for edge in edges for n in edge})
    while rest:
        inside = [(a, b, w) for (a, b), w in edges.items() if a in rest and b in rest]
        order.append(max(rest, key=lambda node: sum(w * ((a == node) - (b == node)) for a, b, w in inside)))
        rest.remove(order[-1])

    def cost(order: list[str]) -> int:
        rank = {n: i for i, n in enumerate(order)}
        return sum(w for (a, b), w in edges.items() if rank[a] > rank[b])

    best, improved = cost(order), True
    while improved:
        improved = False
        for node in list(order):
            others = [n for n in order if n != node]
            tried = min((others[:i] + [node] + others[i:] for i in range(len(order))), key=cost)
            if cost(tried) < best:
                order, best, improved = tried, cost(tried), True
    return order


# MARK: Report


def matrix(order: list[str], edges: Edges) -> list[str]:
    rows = [["from \\ to", *(str(i + 1) for i in range(len(order)))], ["---"] * (len(order) + 1)]
    for y, a in enumerate(order):
        cells = [("**%d**" if x < y else "%d") % edges[a, b] if (a, b) in edges else "·" for x, b in enumerate(order)]
        cells[y] = "■"
        rows.append([f"{y + 1} {a}", *cells])
    return [f"| {' | '.join(row)} |" for row in rows] + [""]


def upward(order: list[str], found: dict[tuple[str, str], Counter], place: dict[str, str]) -> list[str]:
    """The references that run against the order, by the pair of places; those with the fewest first."""
    rank = {n: i for i, n in enumerate(order)}
    pairs = defaultdict(list)
    for (a, b), names in found.items():
        if a in place and b in place and rank.get(place[a], 0) > rank.get(place[b], 0):
            pairs[place[a], place[b]].append((Path(a).name, Path(b).name, names))
    lines = []
    for (a, b), files in sorted(pairs.items(), key=lambda pair: sum(sum(names.values()) for *_, names in pair[1])):
        lines.append(f"- `{a}` → `{b}`")
        for x, y, names in sorted(files, key=lambda file: file[:2])[:MOST_PAIRS]:
            lines.append(f"  - {x} → {y}: " + ", ".join(f"{n}×{c}" if c > 1 else n for n, c in names.most_common(5)))
        if len(files) > MOST_PAIRS:
            lines.append(f"  - and {len(files) - MOST_PAIRS} more pairs of files")
    return lines + [""]


def section(title: str, found: dict[tuple[str, str], Counter], place: dict[str, str]) -> list[str]:
    edges = between(found, place)
    order = layers(edges)
    lines = [f"## {title}", "", *matrix(order, edges)]
    components = cycles(edges)
    for component in components:
        lines += [f"Cycle of {len(component)}: {', '.join(component)}", ""]
    return lines + (["References upwards, fewest first:", "", *upward(order, found, place)] if components else [])


def check(root: Path, parts: dict[str, dict[str, str]], found: dict[tuple[str, str], Counter]) -> list[str]:
    """The cycles that are not explained, and the explanations without a cycle."""
    here = {(name, ", ".join(cycle)) for name, place in parts.items() for cycle in cycles(between(found, place))}
    lines = (root / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    explained = {(m[1] or "Targets", ", ".join(sorted(m[2].split(", ")))) for line in lines if (m := EXPLAINED.match(line))}
    return [f"a new cycle in {name}: {cycle}" for name, cycle in sorted(here - explained)] + [
        f"CONTRIBUTING.md explains a cycle that is gone from {name}: {cycle}" for name, cycle in sorted(explained - here)
    ]


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the reader may stop, as `head` does
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=".", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    sources = read(arguments.root)
    if not sources:
        sys.exit(f"{arguments.root}: no Swift sources below {', '.join(PARTS)}")
    found = references(sources)
    parts = {"Targets": {s.path: s.target for s in sources}}
    for target in sorted({s.target for s in sources}):
        folders = {s.path: s.folder for s in sources if s.target == target}
        if len(set(folders.values())) > 1:
            parts[target] = folders
    if arguments.check:
        if problems := check(arguments.root, parts, found):
            sys.exit("\n".join(problems))
        return
    print("\n".join(line for name, place in parts.items() for line in section(name, found, place)))


if __name__ == "__main__":
    main()
