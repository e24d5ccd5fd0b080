#!/bin/sh
# Writes the fixtures into a new folder, compares them byte for byte with those that are there, and replaces them.
set -eu

swift=${1:-swift}
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
"$swift" build -c release --product HabitStoreFixtures
"$("$swift" build -c release --show-bin-path)/HabitStoreFixtures" "$new"

changed=""
for file in "$new"/*; do
    name=$(basename "$file")
    if [ ! -e "fixtures/$name" ]; then
        echo "$name: new"
    elif cmp -s "$file" "fixtures/$name"; then
        echo "$name: the same bytes"
    else
        echo "$name: other bytes"
        changed="$changed $name"
    fi
    cp "$file" "fixtures/$name"
done
if [ -n "$changed" ]; then
    echo "Other bytes have one of three reasons: the generator or an engine was changed (git diff shows the expected results), or the"
    echo "SQLite or LMDB library is another version than the one that wrote the files (each writes its own version or"
    echo "layout into them: this SQLite is $(sed -n 's/^#define SQLITE_VERSION  *"\(.*\)"/\1/p' /usr/include/sqlite3.h)). Run make run to see that they hold what they must."
fi
