#!/usr/bin/env python3
"""Runs each test suite in a process by itself, and prints what each costs: test-times.py TESTS [--jobs N] [--filter EXPRESSION]

TESTS is the executable of the tests, `.build/debug/HabitStorePackageTests.xctest`. The columns are processor seconds, those of child
processes included, and seconds of waiting in between; the sum is at the end. What a suite prints if it fails goes to `.build/test-times`.
The times that Swift Testing prints are those from a test's turn in a queue to its end, and do not show what is slow.
"""
import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RUN = ["--testing-library", "swift-testing"]


def suites(tests):
    listed = subprocess.run([tests, *RUN, "--list-tests"], capture_output=True, text=True, check=True).stdout
    # "Module.Suite/Nested/test()", or "Module.test()" for a test outside of suites.
    return sorted({line.split("/")[0].split("(")[0] for line in listed.splitlines() if "." in line})


def measure(tests, suite, logs):
    started = time.monotonic()
    log = logs / (suite + ".log")
    with open(log, "w") as out:
        process = subprocess.Popen([tests, *RUN, "--filter", "^" + re.escape(suite) + "[/(]"], stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
    processor = usage.ru_utime + usage.ru_stime
    failed = os.waitstatus_to_exitcode(status) != 0
    if not failed:
        log.unlink()
    print(f"{processor:7.1f} {time.monotonic() - started:7.1f}  {suite}{'  FAILED' if failed else ''}", flush=True)
    return processor, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--filter", default="")
    arguments = parser.parse_args()
    logs = Path(".build/test-times")
    logs.mkdir(parents=True, exist_ok=True)
    chosen = [suite for suite in suites(arguments.tests) if re.search(arguments.filter, suite)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda suite: measure(arguments.tests, suite, logs), chosen))
    failures = sum(failed for _, failed in results)
    print(f"{sum(processor for processor, _ in results):.0f} processor seconds in {len(results)} suites, {failures} failed")
    sys.exit(1 if failures else 0)


main()
