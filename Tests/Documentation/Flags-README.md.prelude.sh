export HABITSTORE_ROOT=/tmp/habits
cd Flags
for user in ada berta carla; do habitstore habit add Run --user $user; done
cp habit-store.flagd.json /tmp/habits
