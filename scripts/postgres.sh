#!/bin/sh
# Starts and stops servers to test against, as an unprivileged user, on the loopback address.
#
#   scripts/postgres.sh up FOLDER [CLUSTERS]   makes and starts them, and prints an assignment for the shell: HABITSTORE_POSTGRES,
#                                              the connection URIs, separated by blanks
#   scripts/postgres.sh down FOLDER            stops them, and removes the folder
#   scripts/postgres.sh signal FOLDER NODE KILL|STOP|CONT    sends a signal to a server and all of its processes
#   scripts/postgres.sh promote FOLDER NODE    makes a standby a primary, which acknowledges nothing before it has a standby itself
#   scripts/postgres.sh rejoin FOLDER NODE LEADER    makes a server that was killed the synchronous standby of another one
#
# Each cluster is a primary and a synchronous standby, each on a port of its own; both hosts are in its URI. Its nodes are
# primary-1 and standby-1, the next one's primary-2 and standby-2, whatever has become of them. POSTGRES_BIN names the folder of
# another version's programs.
set -eu

command=${1:-}
folder=${2:-}
clusters=${3:-1}
usage() {
    echo "usage: $0 up|down FOLDER [CLUSTERS], or $0 signal|promote|rejoin FOLDER NODE [SIGNAL|LEADER]" >&2
    exit 64
}
[ -n "$folder" ] || usage

programs() {
    for found in /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin ${POSTGRES_BIN:-}; do
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

# Writes down whom a standby follows, and by which name: that of its cluster, since either server can be the standby.
follow() {
    echo "primary_conninfo = 'host=127.0.0.1 port=$2 user=habitstore application_name=standby$3'" >"$1/postgresql.auto.conf"
    unprivileged touch "$1/standby.signal"
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
        unprivileged "$bin/initdb" -N -D "$primary" -U habitstore -A trust -E UTF8 --locale=C --no-instructions \
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
        unprivileged "$bin/pg_basebackup" -N -D "$standby" -h 127.0.0.1 -p "$first" -U habitstore -R -X stream \
            -c fast >/dev/null
        follow "$standby" "$first" "$cluster"
        second=$(start "$standby")
        # Of both, so that who is promoted waits for a standby, too.
        for data in "$primary" "$standby"; do
            echo "synchronous_standby_names = 'ANY 1 (standby$cluster)'" >>"$data/postgresql.conf"
            unprivileged "$bin/pg_ctl" -D "$data" reload >/dev/null
        done
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
        # One that is stopped does not hear of it.
        pkill -CONT -P "$(head -n 1 "$data/postmaster.pid")" 2>/dev/null || true
        kill -CONT "$(head -n 1 "$data/postmaster.pid")" 2>/dev/null || true
        unprivileged "$bin/pg_ctl" -D "$data" -m immediate stop >/dev/null 2>&1 || true
    done
    rm -rf "$folder"
}

# A server that is stopped starts no processes that would be left over.
signal() {
    first=$(head -n 1 "$folder/$1/postmaster.pid")
    [ "$2" = CONT ] || kill -STOP "$first"
    children=$(pgrep -P "$first" || true)
    # Children end by themselves, some of them, while they are told to.
    for process in $children; do kill "-$2" "$process" 2>/dev/null || true; done
    kill "-$2" "$first"
    [ "$2" = KILL ] || return 0
    for process in $first $children; do
        while kill -0 "$process" 2>/dev/null && ! grep -q '^State:.*Z' "/proc/$process/status" 2>/dev/null; do sleep 0.01; done
    done
    # Nobody may have waited for the process, and the server would take it for one that runs.
    rm -f "$folder/$1/postmaster.pid"
}

promote() {
    bin=$(programs)
    unprivileged "$bin/pg_ctl" -D "$folder/$1" -w -t 60 promote >/dev/null
}

ask() {
    "$bin/psql" -h 127.0.0.1 -p "$1" -U habitstore -d postgres -Atqc "$2"
}

rejoin() {
    bin=$(programs)
    data=$folder/$1
    port=$(cat "$data.port")
    leader=$(cat "$folder/$2.port")
    # The checkpoint tells the timeline that the leader is on.
    ask "$leader" CHECKPOINT
    if ! unprivileged "$bin/pg_rewind" -N -D "$data" \
        --source-server="host=127.0.0.1 port=$leader user=habitstore dbname=postgres" >"$data.rewind.log" 2>&1; then
        echo "pg_rewind could not bring $1 back: $(tail -n 3 "$data.rewind.log")" >&2
        rm -rf "$data"
        unprivileged "$bin/pg_basebackup" -N -D "$data" -h 127.0.0.1 -p "$leader" -U habitstore -X stream -c fast >/dev/null
    fi
    follow "$data" "$leader" "${1##*-}"
    unprivileged "$bin/pg_ctl" -D "$data" -l "$data.log" -w -t 60 -o "-p $port" start >/dev/null
    attempt=0
    until [ "$(ask "$leader" "SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')")" != 0 ]; do
        attempt=$((attempt + 1))
        [ "$attempt" -lt 600 ] || {
            echo "$1 does not become the standby of $2" >&2
            tail -n 20 "$data.log" >&2
            return 70
        }
        sleep 0.05
    done
}

case "$command" in
up) up ;;
down) down ;;
signal) signal "${3:-}" "${4:-}" ;;
promote) promote "${3:-}" ;;
rejoin) rejoin "${3:-}" "${4:-}" ;;
*) usage ;;
esac
