#!/bin/sh
# Typechecks each file of Tests/MustNotCompile against the built modules, and compares what the compiler says with what the file expects:
# `// error: TEXT` at the end of a line, or on lines of its own above it; the compiler's message has to contain the text. No other line may
# have an error. What is wrong inside of a macro's expansion counts at the line of the macro. `// fix: TEXT` on a line of its own expects that
# the compiler offers the text in place of what is wrong.
#
# must-not-compile.sh FOLDER-OF-THE-BUILD [SWIFTC]
set -u
build=$1
swiftc=${2:-swiftc}
failed=0
maps=
for map in Sources/C*/module.modulemap "$build"/C*[!l].build/module.modulemap; do
    # Those of C targets that are built for a tool end in `-tool`.
    maps="$maps -Xcc -fmodule-map-file=$map"
done
for file in Tests/MustNotCompile/*.swift; do
    "$swiftc" -typecheck -swift-version 6 -enable-upcoming-feature ExistentialAny -parse-as-library -diagnostic-style llvm \
        -no-color-diagnostics -module-name MustNotCompile -I "$build/Modules" $maps \
        -load-plugin-executable "$build/HabitStoreMacrosPlugin-tool#HabitStoreMacrosPlugin" "$file" 2>&1 |
        awk -v file="$file" '
            function place(line, text) { found[line] = found[line] "\n" text; lines[line] = 1 }
            BEGIN {
                while ((getline source < file) > 0) {
                    number++
                    if (match(source, /var [A-Za-z_]+/)) declared[substr(source, RSTART + 4, RLENGTH - 4)] = number
                    count = split(source, parts, "// error: ")
                    for (i = 2; i <= count; i++) {
                        sub(/ +$/, "", parts[i])
                        pending[++waiting] = parts[i]
                        total++
                    }
                    if (source ~ /^ *\/\/ error: /) continue
                    if (sub(/^ *\/\/ fix: /, "", source)) { fixes[source] = number; total++; continue }
                    for (i = 1; i <= waiting; i++) expected[number, i] = pending[i]
                    if (waiting > 0) wanted[number] = waiting
                    waiting = 0
                }
            }
            { text = $0; gsub(/^ +| +$/, "", text); printed[text] = 1 }
            { isHere = index($0, file ":") > 0; line = $0; sub(/^.*\.swift:/, "", line); sub(/:.*/, "", line) }
            / error: / {
                text = $0; sub(/^.* error: /, "", text)
                if ($0 ~ /^<unknown>/) { printf "%s: %s\n", file, text; bad++ }
                if (isHere) { place(line, text); held = "" } else { held = text }
                next
            }
            # What is wrong inside of an expansion inside of another: the compiler names the property alone.
            / note: in expansion of macro / && held != "" && !isHere && match($0, /on property .[A-Za-z_]+. here/) {
                place(declared[substr($0, RSTART + 13, RLENGTH - 19)], held)
                held = ""
            }
            / note: / && held != "" && isHere && !/declared here|marked unavailable/ { place(line, held); held = "" }
            END {
                for (number in wanted) for (i = 1; i <= wanted[number]; i++)
                    if (index(found[number], expected[number, i]) == 0) {
                        printf "%s:%d: expected the error: %s\n", file, number, expected[number, i]
                        bad++
                    }
                for (number in lines) if (!(number in wanted)) {
                    printf "%s:%d: an error that nobody expects:%s\n", file, number, found[number]
                    bad++
                }
                for (text in fixes) if (!(text in printed)) {
                    printf "%s:%d: expected the fix: %s\n", file, fixes[text], text
                    bad++
                }
                if (total == 0) { printf "%s: expects no error\n", file; bad++ }
                if (bad == 0) printf "%s: %d errors and fixes, each at its place\n", file, total
                exit bad > 0
            }' || failed=1
done
exit "$failed"
