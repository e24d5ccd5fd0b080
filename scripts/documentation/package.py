"""Writes a package whose program runs the examples of all pages, each page in a process of its own, and runs it."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from swift_source import SwiftFile

BEGIN = "\x01"
SECONDS = 120

MAIN = """\
import Foundation
import Testing

/// Marks in the output which example begins.
func begin(_ place: String) {
    print("\\u{1}\\(place)")
    fflush(nil)
}

/// What is false, and not known to be.
func isNeverTrue() -> Bool { CommandLine.arguments.isEmpty }

@main
enum Documented {
    @MainActor static func main() async throws {
        switch CommandLine.arguments[1] {
CASES
        case "tests": await Testing.__swiftPMEntryPoint() as Never
        default: fatalError("there is no such page")
        }
    }
}
"""

MANIFEST = """\
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Documented",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [
        .package(name: "HabitStore", path: "{root}"),
        .package(name: "ThirdEngine", path: "{root}/Examples/ThirdEngine"),
        {dependencies}
    ],
    targets: [
        .executableTarget(
            name: "Documented",
            dependencies: [
                {products}
            ],
            swiftSettings: [.enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error)]
        )
    ],
    swiftLanguageModes: [.v6]
)
"""


def write(path, text):
    """Writes only what has changed, so that nothing else is compiled anew."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def generate(root, pages, folder):
    """Writes the package, and returns its pages with the files made of them."""
    manifest = (root / "Package.swift").read_text()
    products = re.findall(r'\.library\(name: "(\w+)"', manifest)
    lines = [f'.product(name: "{name}", package: "HabitStore"),' for name in products]
    lines += ['.product(name: "JournalEngine", package: "ThirdEngine"),']
    lines += ['.product(name: "Logging", package: "swift-log"),', '.product(name: "Metrics", package: "swift-metrics"),']
    shared = [line for line in manifest.split("\n") if re.search(r'package\(url: ".*/swift-(log|metrics)"', line)]
    text = MANIFEST.replace("{root}", str(root))
    text = text.replace("{dependencies}", "\n        ".join(line.strip() for line in shared))
    write(folder / "Package.swift", text.replace("{products}", "\n                ".join(lines)))
    if (root / "Package.resolved").exists():
        shutil.copyfile(root / "Package.resolved", folder / "Package.resolved")

    sources, files, cases = folder / "Sources/Documented", [], []
    for index, page in enumerate(pages):
        prelude = root / "Tests/Documentation" / f"{page.title}.prelude.swift"
        file = SwiftFile(page, prelude if prelude.exists() else None)
        files.append((page, file))
        write(sources / f"{page.title}.page.swift", file.text(index))
        call = f"try {'await ' if file.is_async else ''}page{index}()"
        cases.append(f'        case "{index}": {call if file.count else "break"}')
    write(sources / "Documented.swift", MAIN.replace("CASES", "\n".join(cases)))
    expected = {f"{page.title}.page.swift" for page in pages} | {"Documented.swift"}
    for path in sources.iterdir():
        if path.name not in expected:
            path.unlink()
    return files


def run(program, index, page):
    """Runs a page in an empty folder; returns what went wrong, one line each."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("var/lib", "etc", "tmp"):
            (Path(folder) / name).mkdir(parents=True)
        try:
            done = subprocess.run(
                [program, str(index)],
                cwd=folder,
                env={**os.environ, "SWIFT_BACKTRACE": "enable=no"},
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired as expired:
            place = (expired.stdout or b"").decode().split(BEGIN)[-1].split("\n")[0]
            return [f"{place}: error: the example was still running after {SECONDS} seconds"]
    parts = dict(part.split("\n", 1) for part in done.stdout.split(BEGIN)[1:])
    if done.returncode != 0:
        place = list(parts)[-1] if parts else page.name
        return [f"{place}: error: the example failed:\n{done.stderr.strip()}"]
    wrong = []
    for block in page.all("swift"):
        expected = block.printed and "\n".join(block.printed.lines).strip()
        if expected and parts.get(block.place, "").strip() != expected:
            wrong.append(f"{block.printed.place}: error: printed was\n{parts.get(block.place, '').strip()}")
    return wrong


def run_tests(program, files):
    """Runs the tests that examples declare, as Swift Testing does it; returns what went wrong."""
    names = [name for _, file in files for name in file.tests]
    filters = [word for name in names for word in ("--filter", f"{name}\\(")]
    done = subprocess.run([program, "tests", *filters], capture_output=True, text=True, timeout=SECONDS)
    if done.returncode == 0 and f"with {len(names)} test" in done.stdout + done.stderr:
        return []
    return [f"error: of the tests in examples, {', '.join(names)}, one fails or is not found:\n{done.stdout}{done.stderr}"]
