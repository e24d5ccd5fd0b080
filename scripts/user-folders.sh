#!/bin/sh
# Writes users' folders as one version of the command leaves them, for fixtures/: user-folders.sh HABITSTORE ARCHIVE.tar.gz
#
# For each engine that users come from there is a root at each stage, one whose user was killed at live, and one whose user died on
# the way to live, between the seal of the old store and the drain of the new one. HABITSTORE has to be a debug build, since only those
# die where they are told to. What is written is what EarlierUserTests expects.
set -eu

habitstore=$1
archive=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '{"cleanShadowReads": 3}' >"$work/policy.json"

app() { "$habitstore" "$@" --root "$work/root" --user alice --flags "$work/flags.json" --time-zone UTC >>"$work/log"; }
move() { app rollout "$@" --policy "$work/policy.json"; }

# The flag file wants users at a stage: want OLD NEW STAGE
want() {
    engines='"state": "ENABLED", "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}'
    cat >"$work/flags.json" <<EOF
{"flags": {
  "habit-store-stage": {"state": "ENABLED", "variants": {"it": "$3"}, "defaultVariant": "it"},
  "habit-store-old": {$engines, "defaultVariant": "$1"},
  "habit-store-new": {$engines, "defaultVariant": "$2"},
  "habit-store-kill": {"state": "ENABLED", "variants": {"armed": false, "killed": true}, "defaultVariant": "armed"}
}}
EOF
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
    "$habitstore" rollout kill --root "$work/root" --flags "$work/flags.json" >>"$work/log"
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
done
tar -C "$work/all" --sort=name --owner=0 --group=0 --numeric-owner --mtime=2026-11-01 -cf - $(ls "$work/all") | gzip -9n >"$archive"
