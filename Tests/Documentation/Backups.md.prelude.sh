#: /backups = /tmp/backups
export HABITSTORE_ROOT=/tmp/habits
mkdir /tmp/backups
habitstore habit add Run --user alice
habitstore checkin Run --user alice
