#!/bin/sh
# Makes the documentation of the HabitStore module with the toolchain's own DocC.
set -eu

swift=${1:-swift}
graphs=.build/symbol-graphs
rm -rf "$graphs" .build/docs .build/docs-build
mkdir -p "$graphs"
"$swift" build --target HabitStore -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc "$PWD/$graphs" \
    --scratch-path .build/docs-build
find "$graphs" -name '*.symbols.json' ! -name 'HabitStore.symbols.json' ! -name 'HabitStore@*.symbols.json' -delete
docc=$(dirname "$(command -v "$swift")")/docc
"$docc" convert Sources/HabitStore/Documentation.docc --additional-symbol-graph-dir "$graphs" \
    --fallback-display-name HabitStore --fallback-bundle-identifier org.habitstore.HabitStore \
    --output-path .build/docs --transform-for-static-hosting
echo "The documentation is in .build/docs; serve it with: python3 -m http.server --directory .build/docs"
