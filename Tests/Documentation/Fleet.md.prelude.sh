# Three users and a plan without waiting. That of the page takes days.
export HABITSTORE_ROOT=/tmp/fleet
mkdir -p /tmp/fleet
cp Flags/examples/stage-dualwrite.flagd.json /tmp/fleet/habit-store.flagd.json
for user in ada berta carla; do habitstore habit add Run --user $user; done
cat > plan.json <<'PLAN'
{"stage": "dualwrite", "waves": [{"name": "canary", "users": 1}, {"name": "everybody", "percent": 100}]}
PLAN
