#!/bin/sh
# Expands each file of Tests/MacroExpansions by the built macros, and compares what they make with the file of the same name that ends in
# `.expanded`; with `update` as the third argument it is written anew. What is made must compile as well.
#
# macro-expansions.sh FOLDER-OF-THE-BUILD [SWIFTC [update]]
set -u
build=$1
swiftc=${2:-swiftc}
update=${3:-}
failed=0
maps=
for map in Sources/C*/module.modulemap "$build"/C*[!l].build/module.modulemap; do
    # Those of C targets that are built for a tool end in `-tool`.
    maps="$maps -Xcc -fmodule-map-file=$map"
done
output=$(mktemp)
trap 'rm -f "$output" "$output.made"' EXIT
for file in Tests/MacroExpansions/*.swift; do
    expanded=${file%.swift}.expanded
    if ! "$swiftc" -typecheck -swift-version 6 -enable-upcoming-feature ExistentialAny -parse-as-library -warnings-as-errors \
        -module-name MacroExpansions -I "$build/Modules" $maps -Xfrontend -dump-macro-expansions \
        -load-plugin-executable "$build/HabitStoreMacrosPlugin-tool#HabitStoreMacrosPlugin" "$file" >"$output" 2>&1; then
        cat "$output"
        failed=1
        continue
    fi
    # The dump names buffers, with a line before and after each; which is expanded first is the compiler's affair.
    awk '/^@__swiftmacro/ { name = $0; next } /^-+$/ || /^$/ { next } { print name "\t" $0 }' "$output" |
        sort -s -t "$(printf '\t')" -k 1,1 | cut -f 2- >"$output.made"
    if [ "$update" = update ]; then
        cp "$output.made" "$expanded"
    elif diff -u "$expanded" "$output.made"; then
        echo "$file: $(wc -l <"$expanded") lines, as expected"
    else
        failed=1
    fi
done
exit "$failed"
