import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import RawStoreFiles

extension PlantedChange {
    /// Extreme values of a number in text form, and texts that are not numbers.
    static let extremes = [
        "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "9223372036854775808",
        "281474976710656", "1e300", "nan", "", "0x10", " 1", String(repeating: "9", count: 4_000),
    ]

    /// Each bookkeeping key with other values, in each engine.
    static let bookkeeping: [PlantedChange] = {
        var all: [PlantedChange] = []
        for (key, value, answer) in known { all += set(key, value, answer) }
        for key in ["epoch", "lastToken", "historyFloor"] {
            for value in extremes { all += set(key, value, .damage) }
        }
        all += [
            lmdb(.bookkeeping, "format: HabitStore 2", .refusal) { try $0.setText("format", "HabitStore 2") },
            lmdb(.bookkeeping, "format: nothing", .refusal) { try $0.setText("format", nil) },
            lmdb(.bookkeeping, "format: 2^63", .refusal) { try $0.setText("format", "HabitStore 9223372036854775808") },
            lmdb(.bookkeeping, "a key that is not text", .stated(.unknownKeys)) {
                try $0.put("metadata", [0xFF], [0xFF])
            },
            lmdb(.bookkeeping, "a value that is not text", .damage) {
                try $0.put("metadata", Array("epoch".utf8), [0xFF, 0xFE])
            },
            sql(
                .bookkeeping,
                "a value that is not text",
                .damage,
                "INSERT OR REPLACE INTO habitstore_metadata VALUES ('epoch', CAST(x'fffe' AS TEXT))"
            ),
        ]
        all += indexLists
        return all
    }()

    private static let identity = "00000000-0000-0000-0000-000000000001"

    private static let known: [(key: String, value: String?, answer: Answer)] = [
        ("role", "standby", .stated(.ownIdentity)), ("role", "sealed", .stated(.ownIdentity)),
        ("role", "standby 3", .stated(.ownIdentity)), ("role", nil, .stated(.ownIdentity)),
        ("role", "backfilling", .difference), ("role", "nonsense", .damage), ("role", "", .damage),
        ("role", "standby 9223372036854775808", .damage),
        ("epoch", "7", .stated(.ownIdentity)), ("epoch", "0", .stated(.ownIdentity)), ("epoch", "x", .damage),
        ("lineage", identity, .stated(.otherLineage)), ("lineage", nil, .damage), ("lineage", "x", .damage),
        ("storeID", identity, .stated(.ownIdentity)), ("storeID", nil, .refusal), ("storeID", "x", .damage),
        ("historyFloor", "6", .damage), ("historyFloor", "3", .damage), ("historyFloor", "1000", .damage),
        ("historyFloor", "0", .damage), ("historyFloor", nil, .damage),
        ("lastToken", "7", .difference), ("lastToken", "6", .stated(.earlierLastToken)),
        ("lastToken", "2", .stated(.earlierLastToken)),
        ("textForm", nil, .stated(.firstVersions)), ("textForm", "nfd", .damage), ("textForm", "", .damage),
        ("shape.Tag", "0000000000000000", .damage), ("shape.Tag", nil, .damage), ("shape.Tag", "x", .damage),
        ("shape.Entry", "0000000000000000", .damage), ("shape.Foo", "0000000000000000", .stated(.unknownKeys)),
        ("schemaVersion", "2.0.0", .damage), ("schemaVersion", "3.0.1", .damage), ("schemaVersion", "9.0.0", .damage),
        ("schemaVersion", "9223372036854775808.0.0", .damage), ("schemaVersion", "x", .damage),
        ("schemaVersion", nil, .damage),
        ("schema", nil, .stated(.firstVersions)), ("schema", "{}", .refusal), ("schema", "", .refusal),
        ("schema", String(repeating: "[", count: 100_000), .refusal),
        ("indexes", nil, .stated(.missingIndex)), ("indexes", "", .stated(.missingIndex)),
        ("indexes", "Habit.foo\nfoo", .stated(.missingIndex)),
        ("rollout", "{\"stage\":\"live\",\"old\":\"sqlite\",\"isKilled\":true}", .stated(.rolloutNotes)),
        ("rollout", "junk", .stated(.rolloutNotes)), ("backfill", "{}", .stated(.rolloutNotes)),
        ("foo", "bar", .stated(.unknownKeys)),
    ]

    private static func set(_ key: String, _ value: String?, _ answer: Answer) -> [PlantedChange] {
        let name = "\(key): \(value.map { $0.isEmpty ? "empty" : String($0.prefix(40)) } ?? "nothing")"
        let literal = value.map { "'\($0)'" } ?? ""
        let statement =
            value == nil
            ? "DELETE FROM habitstore_metadata WHERE key = '\(key)'"
            : "INSERT OR REPLACE INTO habitstore_metadata VALUES ('\(key)', \(literal))"
        return [
            sql(.bookkeeping, name, answer, statement), lmdb(.bookkeeping, name, answer) { try $0.setText(key, value) },
        ]
    }

    /// The list of complete indexes contradicts the indexes.
    private static let indexLists: [PlantedChange] = [
        lmdb(.bookkeeping, "an index that is not listed", .stated(.missingIndex)) { transaction in
            let lines = try transaction.text("indexes").split(separator: "\n").filter { !$0.hasPrefix("Entry.date") }
            try transaction.setText("indexes", lines.joined(separator: "\n"))
        },
        lmdb(.bookkeeping, "a clustering index that is listed as none", .damage) { transaction in
            let text = try transaction.text("indexes")
            try transaction.setText("indexes", text.replacingOccurrences(of: " (clustering)", with: ""))
        },
        lmdb(.bookkeeping, "an index that is listed as a clustering one", .damage) { transaction in
            let text = try transaction.text("indexes")
            try transaction.setText(
                "indexes",
                text.replacingOccurrences(of: "Entry.date", with: "Entry.date (clustering)")
            )
        },
    ]

    private static let schemaTexts: [(name: String, old: String, new: String, answer: Answer)] = [
        ("another delete rule", "\"deleteRule\":\"cascade\"", "\"deleteRule\":\"nullify\"", Answer.damage),
        (
            "a name that is not unique",
            "{\"kind\":\"string\",\"name\":\"name\",\"preserved\":true,\"unique\":true}",
            "{\"kind\":\"string\",\"name\":\"name\",\"preserved\":true}", .damage
        ),
        (
            "a date that deletions do not preserve", "{\"kind\":\"date\",\"name\":\"date\",\"preserved\":true}",
            "{\"kind\":\"date\",\"name\":\"date\"}", .stated(.declaredAside)
        ),
        (
            "another kind of attribute", "{\"kind\":\"int\",\"name\":\"streak\"}",
            "{\"kind\":\"double\",\"name\":\"streak\"}", .damage
        ),
        ("another name of an attribute", "\"name\":\"streak\"", "\"name\":\"strike\"", .damage),
        ("another destination", "\"destination\":\"Tag\"", "\"destination\":\"Draft\"", .damage),
    ]

    /// Changes to a store's schema text.
    static let schemas: [PlantedChange] = schemaTexts.flatMap { name, old, new, answer in
        [
            PlantedChange(part: .bookkeeping, name: "schema: \(name)", engine: .sqlite, answer: answer) { pair in
                let text =
                    "UPDATE habitstore_metadata SET value = replace(value, '\(old)', '\(new)') WHERE key = 'schema'"
                try pair.run("\(text) AND instr(value, '\(old)')")
            },
            lmdb(.bookkeeping, "schema: \(name)", answer) { transaction in
                let text = try transaction.text("schema")
                try transaction.setText("schema", text.replacingOccurrences(of: old, with: new))
            },
        ]
    }
}
