#!/bin/sh
# Starts and stops servers to test against, as an unprivileged user, on the loopback address.
#
#   scripts/postgres.sh up FOLDER [CLUSTERS]   makes and starts them, and prints an assignment for the shell: HABITSTORE_POSTGRES,
#                                              the connection URIs, separated by blanks
#   scripts/postgres.sh down FOLDER            stops them, and removes the folder
#
# Each cluster is a primary and a synchronous standby, each on a port of its own; both hosts are in its URI. POSTGRES_BIN names the
# folder of another version's programs.
set -eu

command=${1:-}
folder=${2:-}
clusters=${3:-1}
[ -n "$folder" ] || {
    echo "usage: $0 up|down FOLDER [CLUSTERS]" >&2
    exit 64
}

programs() {
    for found in ${POSTGRES_BIN:-} /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin; do
        [ -x "$found/initdb" ] && newest=$found
    done
    echo "${newest:-}"
}

# initdb and the server refuse to run as root.
unprivileged() {
    if [ "$(id -u)" -eq 0 ]; then
        (cd / && setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$folder" "$@")
    else
        "$@"
    fi
}

# Starts a server on a port that nobody has, and says which.
start() {
    attempt=0
    while [ "$attempt" -lt 20 ]; do
        port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
        if unprivileged "$bin/pg_ctl" -D "$1" -l "$1.log" -w -t 60 -o "-p $port" start >/dev/null 2>&1; then
            echo "$port"
            return
        fi
        attempt=$((attempt + 1))
    done
    cat "$1.log" >&2
    return 70
}

up() {
    bin=$(programs)
    [ -n "$bin" ] || {
        echo "there are no programs of PostgreSQL here; install postgresql" >&2
        exit 69
    }
    mkdir -p "$folder"
    [ "$(id -u)" -ne 0 ] || chown postgres "$folder"
    uris=""
    cluster=1
    while [ "$cluster" -le "$clusters" ]; do
        primary=$folder/primary-$cluster
        standby=$folder/standby-$cluster
        unprivileged "$bin/initdb" -D "$primary" -U habitstore -A trust -E UTF8 --locale=C --no-instructions \
            >"$folder/initdb-$cluster.log" 2>&1
        cat >>"$primary/postgresql.conf" <<EOF
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 64MB
max_connections = 60
wal_level = replica
wal_log_hints = on
hot_standby = on
max_wal_senders = 8
wal_keep_size = 256MB
EOF
        first=$(start "$primary")
        unprivileged "$bin/pg_basebackup" -D "$standby" -h 127.0.0.1 -p "$first" -U habitstore -R -X stream \
            -c fast >/dev/null
        echo "primary_conninfo = 'host=127.0.0.1 port=$first user=habitstore application_name=standby$cluster'" \
            >>"$standby/postgresql.auto.conf"
        second=$(start "$standby")
        echo "synchronous_standby_names = 'ANY 1 (standby$cluster)'" >>"$primary/postgresql.conf"
        unprivileged "$bin/pg_ctl" -D "$primary" reload >/dev/null
        echo "$first" >"$folder/primary-$cluster.port"
        echo "$second" >"$folder/standby-$cluster.port"
        uris="$uris postgresql://habitstore@127.0.0.1:$first,127.0.0.1:$second/postgres"
        cluster=$((cluster + 1))
    done
    echo "HABITSTORE_POSTGRES='${uris# }'; export HABITSTORE_POSTGRES"
}

down() {
    bin=$(programs)
    [ -d "$folder" ] || exit 0
    for data in "$folder"/primary-* "$folder"/standby-*; do
        [ -f "$data/postmaster.pid" ] || continue
        unprivileged "$bin/pg_ctl" -D "$data" -m immediate stop >/dev/null 2>&1 || true
    done
    rm -rf "$folder"
}

case "$command" in
up) up ;;
down) down ;;
*)
    echo "usage: $0 up|down FOLDER [CLUSTERS]" >&2
    exit 64
    ;;
esac
