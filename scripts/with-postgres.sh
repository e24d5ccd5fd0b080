#!/bin/sh
# Runs a command beside servers of PostgreSQL, which scripts/postgres.sh starts for it and stops behind it; they are in
# HABITSTORE_POSTGRES then. Where none can be had the command runs without them and says so, but for CI, which has all tests.
set -eu
here=$(dirname "$0")

without() {
    echo "What needs a server of PostgreSQL is left out: none can be had here." >&2
    [ "${CI:-}" != true ] || exit 69
    exec "$@"
}

if [ -n "${HABITSTORE_POSTGRES:-}" ]; then exec "$@"; fi
has_programs() {
    for program in ${POSTGRES_BIN:+"$POSTGRES_BIN/initdb"} /usr/lib/postgresql/*/bin/initdb /opt/homebrew/opt/postgresql*/bin/initdb; do
        [ ! -x "$program" ] || return 0
    done
    return 1
}

if ! has_programs; then
    # The package would make a server of the system's own.
    if [ "$(id -u)" -eq 0 ] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        mkdir -p /etc/postgresql-common
        echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
    fi
    sh "$here/install.sh" "PostgreSQL" "install it: postgresql" postgresql || without "$@"
fi

# The servers' user may not reach the folder that this is run in.
folder=$(mktemp -d /tmp/habitstore-postgres.XXXXXX)
trap 'sh "$here/postgres.sh" down "$folder"' EXIT
trap 'exit 130' INT TERM
assignment=$(sh "$here/postgres.sh" up "$folder" "${CLUSTERS:-1}") || {
    trap - EXIT
    without "$@"
}
eval "$assignment"
status=0
"$@" || status=$?
exit "$status"
