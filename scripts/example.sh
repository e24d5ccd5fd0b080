#!/bin/sh
# Builds, tests and runs an example: example.sh PACKAGE BUILD_FOLDER SWIFT [FLAGS…]
#
# Its executable is called as its folder is. The tests' output goes to BUILD_FOLDER/NAME.log; shown is what failed, and the
# closing line.
set -u
package=${1%/}
scratch=$2
swift=$3
shift 3
name=$(basename "$package")
log=$scratch/$name.log
mkdir -p "$scratch"
echo "$package"
"$swift" build --build-tests --package-path "$package" --scratch-path "$scratch" "$@" || exit 1
"$swift" test --skip-build --disable-xctest --package-path "$package" --scratch-path "$scratch" "$@" >"$log" 2>&1
status=$?
if [ "$status" -ne 0 ]; then
    echo "The tests of $package failed; all of the output is in $log. What they said:"
    grep -E '✘|error:|Fatal error|signal code' "$log" | head -40
fi
grep -E 'Test run with' "$log" | tail -1
[ "$status" -eq 0 ] || exit "$status"
folder=$("$swift" build --show-bin-path --package-path "$package" --scratch-path "$scratch" "$@") || exit 1
"$folder/$name"
