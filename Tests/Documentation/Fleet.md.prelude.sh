# Three users.
export HABITSTORE_ROOT=/tmp/fleet
mkdir -p /tmp/fleet
cp Flags/examples/stage-dualwrite.flagd.json /tmp/fleet/habit-store.flagd.json
for user in ada berta carla; do habitstore habit add Run --user $user; done
#: /etc/habitstore = /tmp/etc
# A server that refuses what is not signed.
mkdir -p /tmp/bin
cat > /tmp/bin/curl <<'CURL'
#!/bin/bash
body=$(cat)
[[ "$*" =~ Timestamp:\ ([0-9]+) ]] && time=${BASH_REMATCH[1]}
[[ "$*" =~ sha256=([0-9a-f]{64}) ]] && signature=${BASH_REMATCH[1]}
expected=$(printf '%s.%s' "$time" "$body" | openssl dgst -sha256 -hmac "$(cat /tmp/etc/pager.secret)" -r | cut -d ' ' -f 1)
[ "$signature" = "$expected" ] || exit 22
CURL
chmod 755 /tmp/bin/curl
export PATH=/tmp/bin:$PATH
