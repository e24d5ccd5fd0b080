#!/bin/sh
# Checks the model of the rollout (Models/) with Spin: each rule as it once was has to give a counterexample, and the rules
# as they are none. SIZE=large takes larger bounds for restores, frozen writers, kills that pass the lock, versions and
# logs: three minutes more, and 2 GB of memory.
set -eu

size=${1:-small}
case "$size" in small | large) ;; *) echo "error: SIZE is small or large" >&2; exit 1 ;; esac

command -v spin >/dev/null 2>&1 || sh "$(dirname "$0")/install.sh" Spin "see https://spinroot.com" spin
command -v cc >/dev/null 2>&1 || { echo "error: a C compiler is missing" >&2; exit 1; }

models=$(cd "$(dirname "$0")/../Models" && pwd)
scratch=$(cd "$(dirname "$0")/.." && pwd)/.build/model
mkdir -p "$scratch"
failed=0

# check NAME FILE EXPECTED DEFINES...: EXPECTED is "none" or "found".
check() {
    name=$1 file=$2 expected=$3
    shift 3
    folder="$scratch/$name"
    rm -rf "$folder"
    mkdir -p "$folder"
    cd "$folder"
    # A search for a counterexample is short: compiling it would take longer than running it.
    optimisation=-O1
    [ "$expected" = none ] || optimisation=-O0
    if ! spin -a "$@" "$models/$file.pml" >spin.log 2>&1 || ! cc -w $optimisation -DSAFETY -DCOLLAPSE -DMEMLIM=12000 -o pan pan.c 2>cc.log; then
        echo "error: $name cannot be generated or compiled; see $folder" >&2
        failed=1
        return
    fi
    # -E: whoever waits is no error; -n: no list of what was not reached; -b: a search cut off by its depth is an error.
    ./pan -E -n -b -m200000 -w23 >pan.log 2>&1 || true
    errors=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' pan.log)
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)
    depth=$(sed -n 's/.*depth reached \([0-9]*\),.*/\1/p' pan.log)
    seconds=$(sed -n 's/.*elapsed time \([0-9.e+]*\) seconds.*/\1/p' pan.log)
    megabytes=$(sed -n 's/^ *\([0-9.]*\).total actual memory usage.*/\1/p' pan.log)
    law=$(sed -n 's/^pan:1: \(.*\)$/\1/p' pan.log | head -1 | cut -c1-60)
    result=unfinished
    if grep -q "assertion violated" pan.log; then
        result=found
    elif [ "$errors" = 0 ] && ! grep -q "Search not completed" pan.log; then
        result=none
    fi
    verdict=ok
    [ "$result" = "$expected" ] || { verdict=FAILED; failed=1; }
    printf '%-6s %-34s %-10s %10s states %6s deep %6s MB %6s s\n' \
        "$verdict" "$name" "$result" "${states:-?}" "${depth:-?}" "${megabytes:-?}" "${seconds:-?}"
    [ "$verdict" = ok ] || echo "       see $folder/pan.log ${law:+($law)}; spin -t -p -g prints the way there" >&2
    rm -f pan.[bchmpt] pan
}

moves="-DFROM_LIVE -DGOALS=7 -DMOVES=2 -DWRITES=2 -DCOPIES=1 -DCRASHES=1"
back="-DFROM_COMPLETE_PRUNED -DGOALS=6 -DMOVES=1 -DWRITES=2 -DCOPIES=2 -DCRASHES=0"
forward="-DFROM_DUAL_UNFILLED -DNO_MIRROR -DGOALS=8 -DMOVES=1 -DWRITES=2 -DCOPIES=2 -DCRASHES=0"
restores="-DFROM_DUAL -DGOALS=7 -DMOVES=1 -DWRITES=2 -DRESTORES=1 -DVERIFICATIONS=1 -DCRASHES=0"
frozen="-DFROM_COMPLETE -DFENCED -DGOALS=6 -DMOVES=2 -DWRITES=2 -DCRASHES=0"
passing="-DFROM_COMPLETE -DFENCED -DPASSING -DGOALS=4 -DMOVES=2 -DWRITES=1 -DCRASHES=0"
waiting="-DWAITING -DFENCED -DGOALS=36 -DMOVES=1 -DWRITES=1 -DCRASHES=0"
versions="-DWRITES=2 -DCRASHES=1"
damaged="-DWRITES=1 -DCRASHES=1 -DDAMAGES=1"
logs="-DCOMMITS=5 -DCRASHES=2 -DEXCHANGES=2"

echo "Rules as they were: a counterexample has to be found."
# The definitions are words of their own.
# shellcheck disable=SC2086
{
    check copies-back-unfenced rollout found $back -DOLD_COPY_UNFENCED
    check copies-forward-unfenced rollout found $forward -DOLD_COPY_UNFENCED
    check copies-begun-blindly rollout found $back -DOLD_BEGIN_BLIND -DOLD_ROLE_TO_UNFINISHED
    check complete-undrained rollout found $moves -DOLD_COMPLETE_UNDRAINED
    check old-store-trusted rollout found $restores -DOLD_TRUST_OLD_STORE
    check claim-unchecked rollout found $restores -DOLD_CLAIM_UNCHECKED
    check no-fence-after-commit rollout found $frozen -DOLD_NO_FENCE_AFTER_COMMIT
    check mark-before-fence rollout found $frozen -DMARK_BEFORE_FENCE
    check word-kept-by-kill rollout found $frozen -DFENCE_KEEPS_WORD
    check set-unchecked rollout found $passing -DOLD_SET_UNCHECKED
    check heal-without-claim rollout found $frozen -DPASSING -DHEAL_WITHOUT_CLAIM
    check sealed-last rollout found $frozen -DPASSING -DOLD_SEALED_LAST
    check reopen-needs-both rollout found -DFROM_LIVE $waiting -DOLD_REOPEN_NEEDS_BOTH
    check writes-while-a-kill-waits rollout found -DFROM_COMPLETE $waiting -DWAITING_WRITES
    check opening-forgets-kill rollout found -DFROM_LIVE $waiting -DOPENING_FORGETS_KILL
    check confirmed-unacknowledged rollout found -DFROM_LIVE $waiting -DWAY_BACK -DCONFIRM_UNACKNOWLEDGED
    check reads-without-epoch evidence found -DFAULTS=0 -DMOVES=4 -DREADS=2 -DOLD_READS_WITHOUT_EPOCH
    check evidence-lost evidence found -DOLD_EVIDENCE_LOST
    check mark-cleared-blindly evidence found -DFAULTS=0 -DREADS=2 -DLOOKS=3 -DDAMAGES=2 -DMARK_CLEARED_BLINDLY
    check rows-of-one-store evidence found -DROWS -DCRASHES=0 -DROWS_OF_THE_SERVING_STORE
    check rows-without-witness evidence found -DROWS -DCRASHES=0 -DLOOKS=3 -DROWS_WITHOUT_WITNESS
    check rows-failure-not-owed evidence found -DROWS -DROWS_FAILURE_NOT_OWED
    check rows-read-by-a-kill evidence found -DROWS -DROWS_KILL_READS
    check rows-lost-with-stores evidence found -DROWS -DFAULTS=0 -DLOSSES=1
    check engines-turned flags found -DOLD_FLIP
    check accepted-blindly versions found -DOLD_ADOPT_BLIND
    check kill-forgotten versions found -DOLD_KILL_FORGOTTEN
    check accept-clears-kill versions found $damaged -DACCEPT_CLEARS_KILL
    check left-store-unmigrated versions found -DFROM_COMPLETE -DOLD_LEFT_UNMIGRATED
    check left-store-first versions found -DFROM_COMPLETE -DOLD_LEFT_FIRST
    check log-unchecked logs found -DOLD_LOG_UNCHECKED
    check log-of-the-base-only logs found -DBASE_ONLY
}

if [ "$size" = large ]; then
    restores="-DFROM_DUAL -DGOALS=7 -DMOVES=2 -DWRITES=2 -DRESTORES=1 -DVERIFICATIONS=1 -DCRASHES=0"
    frozen="-DFROM_COMPLETE -DFENCED -DGOALS=6 -DMOVES=2 -DWRITES=2 -DCRASHES=1"
    passing="-DFROM_COMPLETE -DFENCED -DPASSING -DGOALS=6 -DMOVES=2 -DWRITES=1 -DCRASHES=0"
    versions="-DWRITES=4 -DCRASHES=2"
    damaged="-DWRITES=2 -DCRASHES=1 -DDAMAGES=1"
    logs="-DCOMMITS=6 -DCRASHES=3 -DEXCHANGES=3"
fi
echo "Rules as they are ($size): none may be found."
# shellcheck disable=SC2086
{
    check rules-moves rollout none $moves
    check rules-copies-back rollout none $back
    check rules-copies-forward rollout none $forward
    check rules-restores rollout none $restores
    check rules-frozen rollout none $frozen
    check rules-passing rollout none $passing
    check rules-waiting-live rollout none -DFROM_LIVE $waiting -DWAY_BACK
    check rules-waiting-complete rollout none -DFROM_COMPLETE $waiting
    check rules-evidence evidence none
    check rules-evidence-losses evidence none -DFAULTS=0 -DLOSSES=1
    [ "$size" = small ] || check rules-rows evidence none -DROWS -DCRASHES=0
    check rules-flags flags none
    check rules-versions-live versions none $versions
    check rules-versions-complete versions none -DFROM_COMPLETE $versions
    check rules-damaged-live versions none $damaged
    check rules-damaged-complete versions none -DFROM_COMPLETE $damaged
    check rules-logs logs none $logs
}

[ "$failed" = 0 ] || { echo "error: the model and its rules do not agree" >&2; exit 1; }
