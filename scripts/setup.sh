#!/bin/sh
# Installs the C libraries that HabitStore builds on, where they are missing: by apt when that is possible without
# asking, otherwise by saying the one line to type.
set -eu

missing=""
[ -e /usr/include/sqlite3.h ] || missing="$missing libsqlite3-dev"
[ -e /usr/include/lmdb.h ] || missing="$missing liblmdb-dev"
[ -e /usr/include/zlib.h ] || missing="$missing zlib1g-dev"

case "$(uname -s)" in
Darwin)
    if command -v brew >/dev/null 2>&1 && brew list lmdb >/dev/null 2>&1; then exit 0; fi
    echo "error: LMDB is missing. Type: brew install lmdb" >&2
    exit 1
    ;;
esac

if ! command -v swift >/dev/null 2>&1; then
    echo "error: there is no Swift toolchain on the PATH; see https://www.swift.org/install (6.2 or newer)" >&2
    exit 1
fi

[ -n "$missing" ] || exit 0

line="apt-get update && apt-get install -y$missing"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "error: these libraries are missing, with their headers:$missing" >&2
    exit 1
elif [ "$(id -u)" = 0 ]; then
    sh -c "DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND; $line" >/dev/null
elif sudo -n true 2>/dev/null; then
    sudo sh -c "DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND; $line" >/dev/null
else
    echo "error: libraries are missing. Type: sudo sh -c '$line'" >&2
    exit 1
fi
