#!/bin/sh
# Runs tests that were built with `--sanitize=thread`, and fails if ThreadSanitizer reports a race in them or in the processes that they start:
# race-check.sh FOLDER FILTER COMMAND...  A race that a test plants has to be reported first: without it, an empty report means nothing.
#
# Reports go to files in FOLDER, because tests read what processes print and how they exit.
set -u
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
reports=$(cd "$1" && pwd)
filter=$2
shift 2
rm -f "$reports"/*.[0-9]*
options="exitcode=0 suppressions=$here/race-suppressions.txt ${TSAN_OPTIONS:-}"

export TSAN_OPTIONS="$options log_path=$reports/planted"
HABITSTORE_PLANTED_RACE=1 "$@" --filter PlantedRaceTests >"$reports/planted.log" 2>&1
if ! grep -qs 'SharedCommit.*window' "$reports"/planted.[0-9]*; then
    echo "ThreadSanitizer did not report the planted race, so it would not report others; see $reports/planted.log" >&2
    exit 1
fi

export TSAN_OPTIONS="$options log_path=$reports/race"
TEST_PARTS='' TEST_LOG="$reports/test.log" sh "$here/test.sh" "$@" --filter "$filter"
status=$?
if cat "$reports"/race.[0-9]* >"$reports/races.txt" 2>/dev/null; then
    echo "ThreadSanitizer reported races; all stacks are in $reports/races.txt:" >&2
    grep '^SUMMARY' "$reports/races.txt" | "$1" demangle --simplified | sort | uniq -c | sort -rn >&2
    exit 1
fi
[ "$status" -ne 0 ] || echo "No races; the planted one was reported."
exit "$status"
