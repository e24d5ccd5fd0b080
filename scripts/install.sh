#!/bin/sh
# Installs packages by apt when that is possible without asking, otherwise prints the command to run.
# Usage: scripts/install.sh WHAT HINT PACKAGE...: WHAT is missing, and HINT says what to do where there is no apt.
set -eu

what=$1 hint=$2
shift 2
line="apt-get update && apt-get install -y $*"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "error: missing: $what; $hint" >&2
    exit 1
elif [ "$(id -u)" = 0 ]; then
    DEBIAN_FRONTEND=noninteractive sh -c "$line" >/dev/null
elif sudo -n true 2>/dev/null; then
    sudo DEBIAN_FRONTEND=noninteractive sh -c "$line" >/dev/null
else
    echo "error: missing: $what. Run: sudo sh -c '$line'" >&2
    exit 1
fi
