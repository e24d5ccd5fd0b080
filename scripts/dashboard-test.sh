#!/bin/sh
# Drives habitstore-serve as a browser and as programs do: dashboard-test.sh BINARY PICTURES
#
# Chromium is installed where that is possible without asking. Where it cannot be had, nothing is pressed and no picture is made, which
# is said; CI has to have it.
set -eu
here=$(dirname "$0")

if ! command -v chromium >/dev/null 2>&1; then
    sh "$here/install.sh" Chromium "install it: chromium" --no-install-recommends chromium fonts-dejavu-core || [ "${CI:-}" != true ] || exit 69
fi
exec python3 "$here/dashboard/test.py" "$1" "$2"
