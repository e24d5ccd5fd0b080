#!/bin/sh
# Cuts the power of a file system under the child of a crash sweep: power-cut.sh BINARY CUTS SEED
set -eu

binary=$1
cuts=$2
seed=$3
if [ "$(uname -s)" != Linux ] || [ "$(id -u)" != 0 ]; then
    echo "power-cut: this needs Linux and root, for mounting a file system that can be shut down"
    exit 2
fi
for tool in mkfs.ext4 mount umount losetup; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "power-cut: $tool is missing (apt install e2fsprogs mount)"
        exit 2
    fi
done
if ! losetup --find >/dev/null 2>&1; then
    echo "power-cut: there is no loop device to be had"
    exit 2
fi
memory=/dev/shm
[ -w "$memory" ] || memory=${TMPDIR:-/tmp}
work=$(mktemp -d "$memory/power-cut.XXXXXX")
trap 'umount "$work/disk" 2>/dev/null || true; rm -rf "$work/image"; rmdir "$work/disk" "$work"' EXIT
mkdir "$work/disk"
truncate -s 128M "$work/image"
mkfs.ext4 -q -F "$work/image"
if ! mount -o loop "$work/image" "$work/disk" 2>/dev/null; then
    echo "power-cut: a file system in a loop device cannot be mounted here"
    exit 2
fi
umount "$work/disk"
"$binary" crash power-cut --image "$work/image" --mount "$work/disk" --cuts "$cuts" --seed "$seed"
