import HabitTracker

try FileManager.default.createDirectory(atPath: "/etc/notes", withIntermediateDirectories: true)
for (file, variant) in [("flags", "off"), ("wanted", "live")] {
    let text = """
        {"flags": {"habit-store-stage": {
            "state": "ENABLED",
            "variants": {"off": "off", "dualwrite": "dualwrite", "shadow": "shadow", "live": "live", "complete": "complete"},
            "defaultVariant": "off",
            "targeting": {"if": [{"in": [{"var": "targetingKey"}, ["alice"]]}, "\(variant)"]}}}}
        """
    try Data(text.utf8).write(to: URL(fileURLWithPath: "/etc/notes/" + file + ".json"))
}
