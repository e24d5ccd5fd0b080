#!/bin/sh
# Runs the tests by the command given. What a thousand tests print beside each other buries what failed: it goes to
# TEST_LOG, and shown are how far they are, at the end what failed, and the closing line.
#
# Tests that print nothing for SILENT_SECONDS hang: the stacks of their threads go to a file beside the log, where a debugger is
# installed, and the run fails.
set -u
log=${TEST_LOG:-.build/test.log}
stacks=${log%.log}.stacks
silent_seconds=${SILENT_SECONDS:-600}
mkdir -p "$(dirname "$log")"
rm -f "$stacks"

# The processes that a process has started, and theirs.
descendants() {
    for child in $(pgrep -P "$1"); do
        descendants "$child"
        echo "$child"
    done
}

show_stacks() {
    for process in $(descendants "$1"); do
        echo "process $process: $(ps -o args= -p "$process" | cut -c1-200)"
        if command -v gdb >/dev/null; then
            gdb -p "$process" -batch -ex 'thread apply all backtrace 40' 2>&1
        elif command -v lldb >/dev/null; then
            lldb -p "$process" --batch -o 'thread backtrace all' -o detach 2>&1
        fi
    done >"$stacks"
}

"$@" >"$log" 2>&1 &
tests=$!
trap 'kill $(descendants $tests) $tests 2>/dev/null; exit 130' INT TERM
size=0
silent=0
seconds=0
while kill -0 "$tests" 2>/dev/null; do
    sleep 1
    seconds=$((seconds + 1))
    before=$size
    size=$(wc -c <"$log")
    silent=$((silent + 1))
    [ "$size" -eq "$before" ] || silent=0
    [ $((seconds % 60)) -ne 0 ] || echo "$seconds seconds, $(wc -l <"$log") lines in $log"
    if [ "$silent" -ge "$silent_seconds" ]; then
        show_stacks "$tests"
        kill -KILL $(descendants "$tests") "$tests" 2>/dev/null
        echo "The tests have printed nothing for $silent seconds and were ended. Begun and not ended are some of:"
        grep -oE '^(◇|✔|✘) Test [A-Za-z0-9_]+' "$log" | cut -d ' ' -f 3 | sort | uniq -u | head -40
        echo "Where they were, all of it in $stacks; what they printed is in $log:"
        grep -E '^(process|Thread)|HabitStore|Tests' "$stacks" | cut -c1-160 | head -200
        exit 1
    fi
done
wait "$tests"
status=$?
if [ "$status" -ne 0 ]; then
    echo "The tests failed; all of the output is in $log. What they said:"
    grep -E '✘|error:|Fatal error|signal code' "$log" | head -40
fi
grep -E 'Test run with' "$log" | tail -1
exit "$status"
