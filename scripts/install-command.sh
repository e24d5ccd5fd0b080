#!/bin/sh
# Installs the command with its completion scripts and its manual page, and the page's server if it was built:
# install-command.sh BINARY MANUAL PREFIX SERVER
# DESTDIR goes before PREFIX, for whoever makes a package.
set -eu

binary=$1
manual=$2
root=${DESTDIR:-}$3
share=$root/share

install -d "$root/bin" "$share/man/man1"
install -m 755 "$binary" "$root/bin/habitstore"
install -m 644 "$manual" "$share/man/man1/habitstore.1"
server=""
if [ -x "$4" ]; then
    install -m 755 "$4" "$root/bin/habitstore-serve"
    server=", bin/habitstore-serve"
fi

# complete SHELL FOLDER NAME
complete() {
    install -d "$share/$2"
    "$binary" --generate-completion-script "$1" >"$share/$2/$3"
    chmod 644 "$share/$2/$3"
}
complete bash bash-completion/completions habitstore
complete zsh zsh/site-functions _habitstore
complete fish fish/vendor_completions.d habitstore.fish

echo "Installed below $root: bin/habitstore$server, its completions for bash, zsh and fish, and its manual page."
