#!/bin/sh
# Writes users' folders as one version of the command leaves them, for fixtures/: user-folders.sh HABITSTORE ARCHIVE.tar.gz
#
# For each engine that users come from there is a root at each stage, one whose user was killed at live, one whose user died on the way
# to live, between the seal of the old store and the drain of the new one, one with a month of evidence at shadow, one with a second
# store, named notes, at dualwrite, and a backup and exports made at live. HABITSTORE has to be a debug build, since only those die where
# they are told to. The clock is set back (faketime), so that the evidence has expired wherever tests run. What is written is what
# EarlierUserTests and ExportTests expect.
set -eu

habitstore=$1
archive=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '{"cleanShadowReads": 3}' >"$work/policy.json"

days_ago=400
past() { faketime --exclude-monotonic -f "-${days_ago}d" "$habitstore" "$@" >>"$work/log"; }
app() { past "$@" --root "$work/root" --user alice --flags "$work/flags.json" --time-zone UTC; }
move() { app rollout "$@" --policy "$work/policy.json"; }

# The flags of one of a user's stores: flags STORE OLD NEW STAGE
flags() {
    engines='"state": "ENABLED", "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}'
    cat <<EOF
  "$1-stage": {"state": "ENABLED", "variants": {"it": "$4"}, "defaultVariant": "it"},
  "$1-old": {$engines, "defaultVariant": "$2"},
  "$1-new": {$engines, "defaultVariant": "$3"},
  "$1-kill": {"state": "ENABLED", "variants": {"armed": false, "killed": true}, "defaultVariant": "armed"}
EOF
}

# The flag file wants users at a stage: want OLD NEW STAGE
want() {
    printf '{"flags": {\n%s,\n%s\n}}\n' "$(flags habit-store "$1" "$2" "$3")" "$(flags notes-store "$1" "$2" dualwrite)" >"$work/flags.json"
}

# New records, a changed one and a deleted one: write STAGE NUMBER
write() {
    app checkin Read --at "2020-02-2$2T08:30" --value "$2.5" --note "at $1"
    app habit edit Read --target "2$2"
    app draft add "at $1" --attach "$1.txt"
    app tag add "since $1"
    [ "$1" = off ] || app tag delete "since $before"
    before=$1
}

keep() { mkdir "$work/all/$1" && cp -pR "$work/root/." "$work/all/$1"; }
take() { rm -rf "$work/root" && cp -pR "$work/all/$1" "$work/root"; }
read_often() { for _ in 1 2 3 4 5; do app habit list; done; }

mkdir "$work/all"
for old in sqlite lmdb; do
    new=$([ $old = sqlite ] && echo lmdb || echo sqlite)
    rm -rf "$work/root"
    mkdir "$work/root"
    want $old $new off
    app habit add Read --category mind --unit pages --target 20 --tag evening
    app habit add "Café ☕️" --times 2 --period 7
    number=0
    for stage in off dualwrite shadow live rampdown complete; do
        want $old $new $stage
        [ $stage = off ] || { read_often && move advance; }
        write $stage $number
        keep $old-$stage
        number=$((number + 1))
    done

    take $old-live
    want $old $new live
    past rollout kill --root "$work/root" --flags "$work/flags.json"
    app habit list
    keep $old-killed

    take $old-shadow
    want $old $new live
    move verify
    move rehearse
    read_often
    if HABITSTORE_CRASH_POINT=switch.sealed move promote 2>>"$work/log"; then
        echo "user-folders: $habitstore did not die in the middle of the move: it has to be a debug build"
        exit 1
    fi
    keep $old-moving

    take $old-shadow
    want $old $new live
    for day in $(seq 30); do
        days_ago=$((400 - day))
        app checkin Read --at "$(date -u -d "2020-02-29 $day days" +%F)T08:30" --value "$day.5" --note "day $day"
        app habit list
        [ $((day % 3)) -ne 0 ] || { move verify && move rehearse; }
    done
    days_ago=400
    keep $old-month

    take $old-live
    want $old $new live
    for number in 1 2 3; do app draft add "note $number" --store-name notes; done
    move advance --store-name notes
    app draft add "note 4" --store-name notes
    keep $old-stores

    take $old-live
    mkdir "$work/all/$old-kept"
    past user backup alice "$work/all/$old-kept/backup" --root "$work/root" --flags "$work/flags.json"
    app export "$work/all/$old-kept/export.json" --format json
    app export "$work/all/$old-kept/export" --format csv
done
tar -C "$work/all" --sort=name --owner=0 --group=0 --numeric-owner --mtime=2026-11-01 -cf - $(ls "$work/all") | gzip -9n >"$archive"
