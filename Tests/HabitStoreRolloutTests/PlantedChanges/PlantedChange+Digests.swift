import Foundation
import HabitTracker
import RawStoreFiles

@_spi(Engines) @testable import HabitStore

extension PlantedChange {
    /// Kept digests that contradict the records.
    static let digests: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += sqliteDigests
        all += lmdbDigests
        all += leaves
        return all
    }()

    private static let sqliteDigests: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += ["Habit", "Entry", "Tag", "Draft"].flatMap { entity in
            pairs([
                ("one more", "count = count + 1"), ("the greatest number", "count = 9223372036854775807"),
                ("the least number", "count = -9223372036854775808"), ("-5", "count = -5"),
                ("another sum", "sum = x'000102030405060708090a0b0c0d0e0f'"),
                ("a sum of three bytes", "sum = x'000102'"),
                ("a depth of 1", "depth = 1"), ("a depth of 33", "depth = 33"), ("a depth of 255", "depth = 255"),
                ("a depth of -1", "depth = -1"), ("the greatest depth", "depth = 9223372036854775807"),
                ("a beginning of three bytes", "first = x'000000'"),
                ("a beginning that is none", "first = x'00000000000000000000000000000001'"),
            ]).map { name, change in
                sql(
                    .digests,
                    "\(entity), \(name)",
                    .damage,
                    "UPDATE habitstore_digest SET \(change) WHERE entity = '\(entity)'"
                )
            } + [sql(.digests, "\(entity), none", .damage, "DELETE FROM habitstore_digest WHERE entity = '\(entity)'")]
        }
        all += rows([
            ("none at all", "DELETE FROM habitstore_digest", .damage),
            ("the greatest numbers", "UPDATE habitstore_digest SET count = 9223372036854775807", .damage),
            (
                "those of an unknown entity",
                "INSERT INTO habitstore_digest VALUES ('Foo', zeroblob(16), 0, 0, zeroblob(16))",
                .stated(.unknownDigests)
            ),
            (
                "one within another",
                "INSERT INTO habitstore_digest VALUES ('Tag', x'10000000000000000000000000000000', 1, 0, zeroblob(16))",
                .damage
            ),
        ]).map { sql(.digests, $0, $2, $1) }
        return all
    }()

    private typealias Edit = @Sendable (_ key: [UInt8], _ value: [UInt8]) -> (key: [UInt8], value: [UInt8])

    private static let lmdbDigests: [PlantedChange] = {
        func number(_ number: Int64) -> Edit {
            { key, value in (key, value.prefix(1) + RawRecord.number(number) + value.dropFirst(9)) }
        }
        func depth(_ depth: UInt8) -> Edit { { key, value in (key, [depth] + value.dropFirst()) } }
        let edits: [(String, Edit)] = [
            ("one more", { key, value in (key, value.prefix(1) + [value[1] + 1] + value.dropFirst(2)) }),
            ("the greatest number", number(.max)), ("the least number", number(.min)), ("-5", number(-5)),
            ("a depth of 1", depth(1)), ("a depth of 33", depth(33)), ("a depth of 255", depth(255)),
            ("too short", { key, value in (key, Array(value.prefix(5))) }), ("empty", { key, _ in (key, []) }),
            ("too long", { key, value in (key, value + [1, 2]) }),
            ("another sum", { key, value in (key, value.dropLast() + [value[24] ^ 1]) }),
            ("a key that is too short", { key, value in (key.dropLast(3), value) }),
            ("a beginning that is none", { key, value in (key.dropLast() + [1], value) }),
        ]
        return ["Habit", "Entry", "Tag", "Draft"].flatMap { entity in
            edits.map { name, edit in
                lmdb(.digests, "\(entity), \(name)", .damage) { transaction in
                    for item in try transaction.items("digests") where item.key.starts(with: Array(entity.utf8) + [0]) {
                        try transaction.remove("digests", item.key)
                        let new = edit(item.key, item.value)
                        try transaction.put("digests", new.key, new.value)
                    }
                }
            }
                + [
                    lmdb(.digests, "\(entity), none", .damage) {
                        try $0.removeAll("digests", Array(entity.utf8) + [0])
                    }
                ]
        }
            + [
                lmdb(.digests, "none at all", .damage) { try $0.removeAll("digests") },
                lmdb(.digests, "those of an unknown entity", .stated(.unknownDigests)) { transaction in
                    let value = [UInt8](repeating: 0, count: 25)
                    try transaction.put("digests", Array("Foo".utf8) + [UInt8](repeating: 0, count: 17), value)
                },
                lmdb(.digests, "a key that names no entity", .stated(.unknownDigests)) {
                    try $0.put("digests", [1, 2, 3], [4])
                },
            ]
    }()

    private static let lastLeaf = """
        entity = 'Draft' AND first = (SELECT max(first) FROM habitstore_digest WHERE entity = 'Draft')
        """

    /// One of several digests of an entity.
    private static let leaves: [PlantedChange] = [
        sql(.digests, "one of several lost", .damage, isWide: true, "DELETE FROM habitstore_digest WHERE \(lastLeaf)"),
        sql(
            .digests,
            "one of several lost, with its records",
            .damage,
            isWide: true,
            """
            DELETE FROM Draft WHERE id >= (SELECT max(first) FROM habitstore_digest WHERE entity = 'Draft');
            DELETE FROM habitstore_digest WHERE \(lastLeaf)
            """
        ),
        sql(
            .digests,
            "one of several with another number",
            .damage,
            isWide: true,
            "UPDATE habitstore_digest SET count = 0 WHERE \(lastLeaf)"
        ),
        lmdb(.digests, "one of several lost", .damage, isWide: true) { try dropLastLeaf($0) },
        both("one of several digests lost, and a record changed", .damage, isWide: true) {
            try $0.run(
                "UPDATE Draft SET content = 'x' WHERE id = (SELECT max(id) FROM Draft); DELETE FROM habitstore_digest WHERE \(lastLeaf)"
            )
            try $0.write { try dropLastLeaf($0) }
        },
        both("no digests of an entity, and a record changed", .damage, isWide: true) {
            try $0.run(
                """
                UPDATE Draft SET content = 'x' WHERE id = (SELECT max(id) FROM Draft);
                DELETE FROM habitstore_digest WHERE entity = 'Draft'
                """
            )
            try $0.write { try $0.removeAll("digests", Array("Draft".utf8)) }
        },
        both("no digests at all, and a record changed", .damage) {
            try $0.run(
                "UPDATE Entry SET note = 'x' WHERE id = (SELECT max(id) FROM Entry); DELETE FROM habitstore_digest"
            )
            try $0.write { try $0.removeAll("digests") }
        },
    ]

    private static func dropLastLeaf(_ transaction: RawTransaction) throws {
        let keys = try transaction.items("digests").map(\.key).filter { $0.starts(with: Array("Draft".utf8)) }
        guard keys.count > 1, let last = keys.last else {
            throw HabitStoreError(.notFound, "the digests are not several")
        }
        try transaction.remove("digests", last)
    }
}
