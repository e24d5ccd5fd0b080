#!/bin/sh
# Runs the tests by the command given, and where TEST_PARTS is a list of filters, each of these and the rest in a process of its own, beside
# each other: a test that waits keeps others of its process waiting. What a thousand tests print beside each other buries what failed: it
# goes to TEST_LOG, with the part's number, and shown are how far they are, at the end what failed, and the closing lines.
#
# Tests that print nothing for SILENT_SECONDS hang: the stacks of their threads go to a file beside the log, where a debugger is
# installed, and the run fails.
set -u
log=${TEST_LOG:-.build/test.log}
stacks=${log%.log}.stacks
silent_seconds=${SILENT_SECONDS:-600}
start_seconds=120
mkdir -p "$(dirname "$log")"
rm -f "$stacks" "${log%.log}"-*.log

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
    done >>"$stacks"
}

parts=
count=0
part() {
    count=$((count + 1))
    "$@" >"${log%.log}-$count.log" 2>&1 &
    parts="$parts $!"
    # Of two that start at once, one may find the build's database locked, and no tests.
    waited=0
    while [ "$waited" -lt "$start_seconds" ] && kill -0 "$!" 2>/dev/null && ! grep -q 'Test run started' "${log%.log}-$count.log"; do
        sleep 1
        waited=$((waited + 1))
    done
}
skips=
# Filters are expressions, and no file names.
set -f
for filter in ${TEST_PARTS:-}; do
    part "$@" --filter "$filter"
    skips="$skips --skip $filter"
done
part "$@" $skips
set +f
kill_all() {
    for part in $parts; do kill -"$1" $(descendants "$part") "$part" 2>/dev/null; done
}
trap 'kill_all TERM; exit 130' INT TERM

size=0
silent=0
seconds=0
is_running() {
    for part in $parts; do
        if kill -0 "$part" 2>/dev/null; then return 0; fi
    done
    return 1
}
written() { cat "${log%.log}"-*.log | wc "$1"; }
while is_running; do
    sleep 1
    seconds=$((seconds + 1))
    before=$size
    size=$(written -c)
    silent=$((silent + 1))
    [ "$size" -eq "$before" ] || silent=0
    [ $((seconds % 60)) -ne 0 ] || echo "$seconds seconds, $(written -l) lines in ${log%.log}-*.log"
    if [ "$silent" -ge "$silent_seconds" ]; then
        for part in $parts; do show_stacks "$part"; done
        kill_all KILL
        echo "The tests have printed nothing for $silent seconds and were ended. Begun and not ended are some of:"
        cat "${log%.log}"-*.log | grep -oE '^(◇|✔|✘) Test [A-Za-z0-9_]+' | cut -d ' ' -f 3 | sort | uniq -u | head -40
        echo "Where they were, all of it in $stacks; what they printed is in ${log%.log}-*.log:"
        grep -E '^(process|Thread)|HabitStore|Tests' "$stacks" | cut -c1-160 | head -200
        exit 1
    fi
done
status=0
for part in $parts; do
    wait "$part" || status=$?
done
if [ "$status" -ne 0 ]; then
    echo "The tests failed; all of the output is in ${log%.log}-*.log. What they said:"
    grep -hE '✘|error:|Fatal error|signal code' "${log%.log}"-*.log | head -40
fi
grep -hE 'Test run with' "${log%.log}"-*.log
exit "$status"
