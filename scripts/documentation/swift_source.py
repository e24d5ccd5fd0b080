"""Makes of the examples of a page a Swift file: what they declare, and a function that runs their statements in order.

Each example stands in a scope inside that of the one before it, so that it sees what was declared and may declare it anew. Types
and functions are private to the file. Diagnostics name the line of the page.
"""

import re

ATTRIBUTE = r"@\w+(?:\((?:[^()]|\([^()]*\))*\))?"
ATTRIBUTES = rf"(?:{ATTRIBUTE}\s+)*"
IMPORT = re.compile(rf"{ATTRIBUTES}import\s")
ACCESS = r"(?:public|package|internal|fileprivate|private)\s"
KINDS = r"(?:struct|enum|class|actor|protocol|extension|func|typealias)\b"
DECLARATION = re.compile(rf"({ATTRIBUTES})((?:{ACCESS}|final\s|indirect\s|nonisolated\s)*)({KINDS}[^{{]*)")
BINDING = re.compile(r"(?:let|var)\s+(\w+|\([\w, ]+\))(\s*:[^=]+)?\s*=\s*")
TEST = re.compile(r"@Test\b.*?\bfunc\s+(\w+)", re.DOTALL)
# These take long, and the package's own tests run them over all engines.
KIT = re.compile(r"Contract\b|DifferentialTest|FaultTest")
# Where examples keep users and flags; they are run in a folder of their own.
ABSOLUTE = re.compile(r'"/(?=(?:var|etc|tmp)/)')


def depth_after(line, depth, state):
    """How many brackets are open after a line; `state` is the end of the literal or comment that a line before it began."""
    index = 0
    while index < len(line):
        if state:
            end = line.find(state, index)
            if end < 0:
                return depth, state if state in ('"""', "*/") else None
            if state == '"' and line[end - 1] == "\\":
                index = end + 1
                continue
            index, state = end + len(state), None
            continue
        rest = line[index:]
        if rest.startswith("//"):
            break
        opened = next((mark for mark in ("/*", '"""', '"') if rest.startswith(mark)), None)
        if opened:
            state = "*/" if opened == "/*" else opened
            index += len(opened)
            continue
        depth += (line[index] in "([{") - (line[index] in ")]}")
        index += 1
    return depth, None if state == '"' else state


def chunks(lines):
    """(offset, lines) of what begins in the first column, with what belongs to it."""
    result, depth, state, joins = [], 0, None, False
    for offset, line in enumerate(lines):
        begins = depth == 0 and not state and not joins and line[:1].strip() and line[0] not in ".)}]"
        if begins or not result:
            result.append((offset, []))
        result[-1][1].append(line)
        depth, state = depth_after(line, depth, state)
        # A comment and an attribute belong to what is below them.
        joins = depth == 0 and re.fullmatch(rf"(?://.*|{ATTRIBUTE})\s*", line) is not None
    return result


def suspends(lines):
    """Whether a statement waits, so that all statements of the example mean the forms that suspend."""
    texts = ["\n".join(chunk) for _, chunk in chunks(lines)]
    return any("await" in text for text in texts if not DECLARATION.match(text))


class SwiftFile:
    def __init__(self, page, prelude):
        self.page = page
        # The compiler wants no two files of a module to have the same name, so a second README goes by its title.
        self.path = page.path.with_name(page.title) if page.path.suffix == ".md" else page.path
        self.imports, self.declarations, self.statements, self.tests, self.scopes = [], [], [], [], 0
        examples = [block for block in page.all("swift") if not block.marker.startswith("not compiled")]
        self.count = len(examples)
        self.is_async = any(suspends(block.lines) for block in examples)
        if prelude:
            self.add(prelude, prelude.read_text().split("\n"), 1, "")
        for block in examples:
            self.statements.append(f'    begin("{block.place}")')
            self.add(self.path, block.lines, block.line, block.marker)

    def add(self, path, lines, line, marker):
        module = re.match(r"where (\w+) can be imported", marker)
        if module:
            self.imports += [f"#if canImport({module[1]})", f"import {module[1]}", "#endif"]
            self.declarations.append(f"#if canImport({module[1]})")
            self.statements.append(f"    #if canImport({module[1]})")
        is_run = not marker.startswith("compiled only")
        self.statements.append("    do {" if is_run else "    if isNeverTrue() {")
        runs_async = suspends(lines)
        names = []
        for offset, chunk in chunks(lines):
            names += self.add_chunk(path, chunk, line + offset, runs_async)
        self.statements += [f"    _ = {name}" for name in names]
        if is_run and not module:
            self.scopes += 1
        else:
            self.statements.append("    }")
        if module:
            self.declarations.append("#endif")
            self.statements.append("    #endif")

    def add_chunk(self, path, chunk, line, runs_async):
        """Returns the names that the chunk has declared for the statements after it."""
        while chunk and (not chunk[0].strip() or chunk[0].startswith("//")):
            chunk, line = chunk[1:], line + 1
        text = "\n".join(chunk).rstrip()
        if not text:
            return []
        here, there = f'#sourceLocation(file: "{path}", line: {line})', "#sourceLocation()"
        text = ABSOLUTE.sub('"', text)
        if IMPORT.match(text):
            self.imports += [here, text, there]
            return []
        if declaration := DECLARATION.match(text):
            if (test := TEST.match(text)) and not KIT.search(text):
                self.tests.append(test[1])
            self.declarations += [here, self.made_private(text, declaration), there]
            return []
        binding = BINDING.match(text)
        if self.is_async and not runs_async:
            text = self.made_synchronous(text, binding)
        self.statements += [here, text, there]
        return [name.strip() for name in binding[1].strip("()").split(",")] if binding else []

    @staticmethod
    def made_private(text, declaration):
        attributes, modifiers, rest = declaration.groups()
        attributes = re.sub(r"@main\s+", "", attributes)
        conforms = rest.startswith("extension") and ":" in rest
        access = "" if conforms or re.search(ACCESS, modifiers) else "private "
        return attributes + access + text[len(declaration[1]):]

    @staticmethod
    def made_synchronous(text, binding):
        """The same in a closure, in which calls mean the forms that do not suspend."""
        start = binding.end() if binding else 0
        effect = "" if binding else " -> Void"
        return f"{text[:start]}try {{ () throws{effect} in {text[start:]}\n}}()"

    def text(self, index):
        imports = self.imports
        if not any(IMPORT.match(line) for block in self.page.all("swift") for line in block.lines):
            imports = ["import Foundation"] + [f"import {name}" for name in [self.page.module] if name] + imports
        effects = "async throws" if self.is_async else "throws"
        lines = [f"// {self.page.name}", *imports, *self.declarations, "@MainActor", f"func page{index}() {effects} {{"]
        lines += [*self.statements, "    }" * self.scopes, "}", ""]
        return "\n".join(lines)
