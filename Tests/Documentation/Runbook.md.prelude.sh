# A user in the middle of a rollout, and a fleet of one.
#: ROOT = /tmp/runbook
#: USER = ada
#: STORE = /tmp/runbook/users/u-616461/store.sqlite
#: STAGE = shadow
#: WANTED = off
#: ENGINE = sqlite
#: FLAGS = /tmp/runbook/habit-store.flagd.json
# The evidence is whole here, where the page is about damage.
#: evidence reset = evidence reset --force
#: exit codes up to 2
mkdir -p /tmp/runbook
cp Flags/examples/stage-dualwrite.flagd.json /tmp/runbook/habit-store.flagd.json
habitstore habit add Run --root /tmp/runbook --user ada
habitstore rollout advance --root /tmp/runbook --user ada
echo '{"stage": "dualwrite", "waves": [{"name": "all", "percent": 100}]}' > plan.json
habitstore fleet plan plan.json --root /tmp/runbook
habitstore fleet run --root /tmp/runbook
