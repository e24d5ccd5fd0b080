#!/bin/sh
# Runs the tests by the command given, keeps what they print in .build/test.log, and says at the end what failed: what a
# thousand tests print beside each other hides it.
set -u
log=.build/test.log
mkdir -p .build
{
    "$@" 2>&1
    echo $? >"$log.status"
} | tee "$log"
status=$(cat "$log.status")
rm -f "$log.status"
if [ "$status" -ne 0 ]; then
    echo
    echo "The tests failed; all of the output is in $log. What they said:"
    grep -E '✘|error:|Fatal error|signal code' "$log" | head -40
fi
exit "$status"
