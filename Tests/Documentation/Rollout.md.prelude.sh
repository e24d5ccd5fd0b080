# Three users at the first stage.
#: ROOT = /tmp/rollouts
export HABITSTORE_ROOT=/tmp/rollouts
mkdir -p /tmp/rollouts
cp Flags/examples/stage-off.flagd.json /tmp/rollouts/habit-store.flagd.json
for user in ada berta carla; do habitstore habit add Run --user $user; done
