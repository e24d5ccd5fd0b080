#!/bin/sh
# Builds, tests and runs an example: example.sh PACKAGE BUILD_FOLDER SWIFT [FLAGS…]
#
# Its executable is called as its folder is.
set -eu
package=${1%/}
scratch=$2
swift=$3
shift 3
name=$(basename "$package")
echo "$package"
"$swift" build --build-tests --package-path "$package" --scratch-path "$scratch" "$@"
TEST_LOG=$scratch/$name.log sh scripts/test.sh \
    "$swift" test --skip-build --disable-xctest --package-path "$package" --scratch-path "$scratch" "$@"
"$("$swift" build --show-bin-path --package-path "$package" --scratch-path "$scratch" "$@")/$name"
