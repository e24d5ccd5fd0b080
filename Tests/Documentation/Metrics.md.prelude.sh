#: ROOT = /tmp/fleet
#: /var/lib/node_exporter = /tmp/node_exporter
mkdir -p /tmp/fleet /tmp/node_exporter
cp Flags/examples/stage-dualwrite.flagd.json /tmp/fleet/habit-store.flagd.json
habitstore habit add Run --root /tmp/fleet --user ada
echo '{"stage": "dualwrite", "waves": [{"name": "everybody", "percent": 100}]}' > plan.json
habitstore fleet plan plan.json --root /tmp/fleet
habitstore fleet run --root /tmp/fleet
