#!/bin/sh
# Runs a command with promtool, by which metrics and alert rules are checked; its path is in HABITSTORE_PROMTOOL then. Where none can be had
# the command runs without it and says so, but for CI, which has all tests.
#
# Debian has it in the package of the server. That is unpacked into .build and not installed: nobody wants a server running for a check.
set -eu

without() {
    echo "What promtool checks is left out: it cannot be had here. Install it: prometheus" >&2
    [ "${CI:-}" != true ] || exit 69
    exec "$@"
}

with() {
    HABITSTORE_PROMTOOL=$1
    export HABITSTORE_PROMTOOL
    shift
    exec "$@"
}

if [ -n "${HABITSTORE_PROMTOOL:-}" ]; then exec "$@"; fi
if command -v promtool >/dev/null 2>&1; then with "$(command -v promtool)" "$@"; fi
folder=$(pwd)/.build/promtool
found=$folder/usr/bin/promtool
if [ ! -x "$found" ]; then
    command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || without "$@"
    draft=$(mktemp -d)
    trap 'rm -rf "$draft"' EXIT
    trap 'exit 130' INT TERM
    # The lists of packages may be missing or old; only root renews them.
    (
        cd "$draft"
        apt-get download -q prometheus || { apt-get update -q && apt-get download -q prometheus; }
    ) >"$draft/log" 2>&1 || {
        tail -1 "$draft/log" >&2
        rm -rf "$draft"
        trap - EXIT
        without "$@"
    }
    mkdir -p "$folder/usr/bin"
    dpkg-deb --fsys-tarfile "$draft"/prometheus_*.deb | tar -x -C "$draft" ./usr/bin/promtool
    mv "$draft/usr/bin/promtool" "$found"
    rm -rf "$draft"
    trap - EXIT
fi
"$found" --version >/dev/null 2>&1 || without "$@"
with "$found" "$@"
