#!/bin/sh
# Installs the C libraries that HabitStore builds on, where they are missing: by apt when that is possible without
# asking, otherwise by printing the command to run.
set -eu

missing=""
[ -e /usr/include/sqlite3.h ] || missing="$missing libsqlite3-dev"
[ -e /usr/include/lmdb.h ] || missing="$missing liblmdb-dev"
[ -e /usr/include/zlib.h ] || missing="$missing zlib1g-dev"
[ -e /usr/include/openssl/evp.h ] || missing="$missing libssl-dev"
[ -e /usr/include/postgresql/libpq-fe.h ] || missing="$missing libpq-dev"

case "$(uname -s)" in
Darwin)
    if command -v brew >/dev/null 2>&1 && brew list lmdb libpq >/dev/null 2>&1; then exit 0; fi
    echo "error: LMDB or libpq is missing. Run: brew install lmdb libpq" >&2
    exit 1
    ;;
esac

if ! command -v swift >/dev/null 2>&1; then
    echo "error: there is no Swift toolchain on the PATH; see https://www.swift.org/install (6.2 or newer)" >&2
    exit 1
fi

[ -n "$missing" ] || exit 0

# The packages' names are words of their own.
# shellcheck disable=SC2086
sh "$(dirname "$0")/install.sh" "the C libraries" "install these or what your system calls them:$missing" $missing
