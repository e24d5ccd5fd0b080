import Foundation
import HabitStoreRollout
import HabitTracker
import RawStoreFiles
import StandardEngines

@_spi(Engines) @testable import HabitStore

extension PlantedChange {
    private typealias Token = ChangedContents.Token

    private static let update = "token = \(Token.update)"
    private static let deletion = "token = \(Token.deletion)"
    private static let drafts = "token = \(Token.drafts)"

    /// The history in SQLite.
    static let sqliteHistories: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += transactionRows.map { sql(.history, $0, $2, $1) }
        all += changeRows.map { sql(.history, $0, $2, $1) }
        return all
    }()

    private static let transactionRows: [Row] = {
        var all: [Row] = []
        all += pairs([
            ("no author", "author = NULL"), ("an empty author", "author = ''"), ("another author", "author = 'App'"),
            ("a decomposed author", "author = 'e' || char(769)"), ("the next time", "timestamp = timestamp + 1e-6"),
            ("the time 1e300", "timestamp = 1e300"), ("no time", "timestamp = 0"),
        ]).map { (name, change) -> Row in
            (name, "UPDATE history_transaction SET \(change) WHERE \(update)", .difference)
        }
        all += rows([
            ("an endless time", "UPDATE history_transaction SET timestamp = 9e999 WHERE \(update)", .damage),
            (
                "an author that is not text",
                "UPDATE history_transaction SET author = CAST(x'fffe' AS TEXT) WHERE \(update)", .damage
            ),
        ])
        all += [
            "-5", "0", "1", "4000", "140737488355329", "9223372036854775807", "-9223372036854775808",
        ].map { token -> Row in
            (
                "a transaction at token \(token)", "INSERT INTO history_transaction VALUES (\(token), 0, 'x')",
                token == "4000" ? .difference : .damage
            )
        }
        all += ["17", "0", "-1", "9223372036854775807"].map { token -> Row in
            (
                "a change without a transaction, at token \(token)",
                "INSERT INTO history_change VALUES (\(token), 1, 'Tag', zeroblob(16), 'insert', NULL, NULL)", .damage
            )
        }
        all += rows([
            ("a transaction at the next token", "INSERT INTO history_transaction VALUES (7, 0, 'x')", .difference),
            (
                "a transaction lost",
                "DELETE FROM history_change WHERE \(update); DELETE FROM history_transaction WHERE \(update)",
                .damage
            ),
            (
                "the last transaction lost",
                "DELETE FROM history_change WHERE \(drafts); DELETE FROM history_transaction WHERE \(drafts)",
                .difference
            ),
            ("the first transaction alone lost", "DELETE FROM history_transaction WHERE token = 2", .damage),
            (
                "all authors changed below a raised floor",
                """
                UPDATE habitstore_metadata SET value = '6' WHERE key = 'historyFloor';
                UPDATE history_transaction SET author = 'evil'
                """, .damage
            ),
            (
                "pruned",
                """
                UPDATE habitstore_metadata SET value = '4' WHERE key = 'historyFloor';
                DELETE FROM history_change WHERE token <= 4; DELETE FROM history_transaction WHERE token <= 4
                """, .stated(.pruned)
            ),
            (
                "another lineage, and none",
                """
                UPDATE habitstore_metadata SET value = '00000000-0000-0000-0000-000000000001' WHERE key = 'lineage';
                UPDATE habitstore_metadata SET value = '6' WHERE key IN ('historyFloor', 'lastToken');
                DELETE FROM history_change; DELETE FROM history_transaction
                """, .stated(.otherLineage)
            ),
        ])
        return all
    }()

    private static let changeRows: [Row] = {
        var all: [Row] = []
        all += pairs([
            ("an insertion for an update", "kind = 'insert', attributes = NULL"),
            ("attributes in another order", "attributes = '[\"value\",\"note\"]'"),
            ("an attribute twice", "attributes = '[\"note\",\"note\",\"value\"]'"),
            ("an unknown attribute", "attributes = '[\"note\",\"value\",\"zzz\"]'"),
            ("an attribute in capitals", "attributes = '[\"Note\",\"value\"]'"),
            ("fewer attributes", "attributes = '[\"note\"]'"),
            ("no attributes", "attributes = '[]'"),
            ("another record", "id = zeroblob(16)"), ("another entity", "entity = 'Tag'"),
            ("an unknown entity", "entity = 'Foo'"),
        ]).map { (name, change) -> Row in (name, "UPDATE history_change SET \(change) WHERE \(update)", .difference) }
        all += pairs([
            ("attributes that are none", "attributes = 'x'"), ("attributes that are missing", "attributes = NULL"),
            ("attributes that are numbers", "attributes = '[1]'"), ("a tombstone of an update", "tombstone = '{}'"),
            ("an unknown kind", "kind = 'upsert'"), ("an identifier of three bytes", "id = x'000001'"),
            ("the place 5", "sequence = 5"), ("the place 0", "sequence = 0"), ("the place -3", "sequence = -3"),
            ("the greatest place", "sequence = 9223372036854775807"), ("the place 2^32", "sequence = 4294967297"),
        ]).map { (name, change) -> Row in (name, "UPDATE history_change SET \(change) WHERE \(update)", .damage) }
        all += rows([
            (
                "a further value of a tombstone",
                "replace(tombstone, '{\"date\":{', '{\"note\":{\"string\":\"x\"},\"date\":{')",
                Answer.difference
            ),
            (
                "a tombstone's value of an unknown attribute",
                "replace(tombstone, '{\"date\":{', '{\"zzz\":{\"string\":\"x\"},\"date\":{')", .difference
            ),
            (
                "a date of a tombstone twice",
                "replace(tombstone, '{\"date\":{', '{\"date\":{\"date\":1},\"date\":{')", .difference
            ),
            ("another date of a tombstone", "'{\"date\":{\"date\":700000000}}'", .difference),
            ("an empty tombstone", "'{}'", .difference), ("no tombstone", "NULL", .damage),
            ("a tombstone that is none", "'x'", .damage),
            ("a tombstone with blanks", "replace(tombstone, '{', ' { ')", .stated(.otherSpelling)),
            ("a tombstone that is endless", "'{\"date\":{\"date\":1e999}}'", .damage),
            (
                "a tombstone 100,000 deep",
                "'\(String(repeating: "{\"date\":", count: 100_000))1\(String(repeating: "}", count: 100_000))'",
                .damage
            ),
        ]).map { (name, change, answer) -> Row in
            (name, "UPDATE history_change SET tombstone = \(change) WHERE \(deletion)", answer)
        }
        all += rows([
            (
                "attributes of an insertion", "UPDATE history_change SET attributes = '[\"date\"]' WHERE \(drafts)",
                .damage
            ),
            (
                "a tombstone of an insertion",
                "UPDATE history_change SET tombstone = '{\"date\":{\"date\":1}}' WHERE \(drafts)", .damage
            ),
            ("a change lost", "DELETE FROM history_change WHERE \(update)", .difference),
            ("one of several changes lost", "DELETE FROM history_change WHERE \(drafts) AND sequence = 1", .damage),
            (
                "the last of several changes lost", "DELETE FROM history_change WHERE \(drafts) AND sequence = 2",
                .difference
            ),
        ])
        return all
    }()

    // MARK: LMDB

    private static func key(_ token: Int, _ sequence: UInt32) -> [UInt8] {
        withUnsafeBytes(of: UInt64(token).bigEndian) { Array($0) }
            + withUnsafeBytes(of: sequence.bigEndian) { Array($0) }
    }

    private typealias Edit = @Sendable ([UInt8]) -> [UInt8]?

    private static let header: [UInt8] = [UInt8](repeating: 0, count: 13)

    /// The history in LMDB.
    static let lmdbHistories: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += headers.map { name, answer, edit in
            lmdb(.history, name, answer) { try $0.replace("history", key(Token.update, 0), edit) }
        }
        all += changes.map { name, token, answer, edit in
            lmdb(.history, name, answer) { try $0.replace("history", key(token, 1), edit) }
        }
        all += EngineName.standard.map { engine in
            PlantedChange(part: .history, name: "pruned by the store", engine: engine, answer: .stated(.floor)) {
                pair in
                let store = try pair.address(engine).open(.readWrite, schema: HabitSchema.current)
                defer { store.close() }
                try store.pruneHistory(through: HistoryToken(rawValue: 3))
            }
        }
        all += keys.map { name, answer, key in lmdb(.history, name, answer) { try $0.put("history", key, header) } }
        all += [
            lmdb(.history, "a transaction lost", .damage) { transaction in
                for sequence in [UInt32(0), 1] { try transaction.remove("history", key(Token.update, sequence)) }
            },
            lmdb(.history, "the last transaction lost", .difference) { transaction in
                for sequence in [UInt32(0), 1, 2] { try transaction.remove("history", key(Token.drafts, sequence)) }
            },
            lmdb(.history, "one of several changes lost", .damage) { try $0.remove("history", key(Token.drafts, 1)) },
            lmdb(.history, "a change under another place", .damage) { transaction in
                let change = try transaction.get("history", key(Token.update, 1)) ?? []
                try transaction.remove("history", key(Token.update, 1))
                try transaction.put("history", key(Token.update, .max), change)
            },
        ]
        return all
    }()

    private static let headers: [(String, Answer, Edit)] = [
        ("a longer author", .difference, { $0 + Array("evil".utf8) }),
        ("another author", .difference, { $0.prefix(13) + Array("App".utf8) }),
        ("no author", .difference, { $0.prefix(12) + [0] }),
        ("an author that is none, with bytes", .damage, { $0.prefix(12) + [0] + $0.dropFirst(13) }),
        ("a flag of the author that is none", .damage, { $0.prefix(12) + [7] + $0.dropFirst(13) }),
        ("an author that is not text", .damage, { $0.prefix(13) + [0xFF, 0xFE] }),
        ("the time NaN", .damage, { RawRecord.number(Double.nan.bitPattern) + $0.dropFirst(8) }),
        ("an endless time", .damage, { RawRecord.number(Double.infinity.bitPattern) + $0.dropFirst(8) }),
        ("the time 1e300", .difference, { RawRecord.number(1e300.bitPattern) + $0.dropFirst(8) }),
        ("the next time", .difference, { [$0[0] ^ 1] + $0.dropFirst() }),
        ("two changes", .damage, { $0.prefix(8) + RawRecord.number(UInt32(2)) + $0.dropFirst(12) }),
        ("no changes", .damage, { $0.prefix(8) + RawRecord.number(UInt32(0)) + $0.dropFirst(12) }),
        ("2^32 - 1 changes", .damage, { $0.prefix(8) + RawRecord.number(UInt32.max) + $0.dropFirst(12) }),
        ("an empty header", .damage, { _ in [] }), ("a header of seven bytes", .damage, { Array($0.prefix(7)) }),
    ]

    private static let changes: [(String, Int, Answer, Edit)] = [
        (
            "attributes in another order", Token.update, .difference,
            { $0.replacing("[\"note\",\"value\"]", with: "[\"value\",\"note\"]") }
        ),
        ("attributes with a blank", Token.update, .stated(.otherSpelling), { $0 + [0x20] }),
        ("an unknown attribute", Token.update, .difference, { $0.replacing("\"value\"", with: "\"zzz\"") }),
        ("attributes that are none", Token.update, .damage, { $0.replacing("[\"note\"", with: "{\"note\"") }),
        ("an insertion for an update", Token.update, .damage, { [1] + $0.dropFirst() }),
        ("a deletion for an update", Token.update, .damage, { [3] + $0.dropFirst() }),
        ("an unknown kind", Token.update, .damage, { [9] + $0.dropFirst() }),
        ("attributes of an insertion", Token.drafts, .damage, { $0 + Array("[\"date\"]".utf8) }),
        ("another record", Token.update, .difference, { $0.prefix(23) + [$0[23] ^ 1] + $0.dropFirst(24) }),
        ("an unknown entity", Token.update, .difference, { $0.replacing("Entry", with: "Antry") }),
        ("an entity's name of 65,535 bytes", Token.update, .damage, { $0.prefix(1) + [0xFF, 0xFF] + $0.dropFirst(3) }),
        ("an entity's name of no bytes", Token.update, .damage, { $0.prefix(1) + [0, 0] + $0.dropFirst(3) }),
        ("an empty change", Token.update, .damage, { _ in [] }),
        ("a change that is cut", Token.update, .damage, { Array($0.prefix(20)) }),
        ("a change lost", Token.update, .damage, { _ in nil }),
        (
            "a further value of a tombstone", Token.deletion, .difference,
            { $0.replacing("{\"date\":{", with: "{\"note\":{\"string\":\"x\"},\"date\":{") }
        ),
        (
            "another date of a tombstone", Token.deletion, .difference,
            { $0.replacing("\"date\":7", with: "\"date\":6") }
        ),
        ("a tombstone that is cut", Token.deletion, .damage, { Array($0.dropLast()) }),
    ]

    private static let keys: [(String, Answer, [UInt8])] = [
        ("a transaction at token 0", .damage, key(0, 0)), ("a transaction at token 1", .damage, key(1, 0)),
        ("a transaction at token 4000", .difference, key(4000, 0)),
        ("a transaction at the next token", .difference, key(7, 0)),
        ("a transaction at the greatest token", .damage, key(.max, 0)),
        ("a transaction at token 2^47 + 1", .damage, key(140_737_488_355_329, 0)),
        ("a transaction at token 2^63", .damage, [0x80] + [UInt8](repeating: 0, count: 11)),
        ("a key of three bytes", .damage, [1, 2, 3]), ("a key of 40 bytes", .damage, [UInt8](repeating: 0, count: 40)),
        ("a change without a transaction", .damage, key(4000, 1)),
    ]
}
