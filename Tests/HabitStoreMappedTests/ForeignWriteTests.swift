import Foundation
@_spi(Engines) import HabitStore
import HabitStoreMapped
import HabitStoreTesting
import RawStoreFiles
import Testing

/// Writes of the app's old code, past the store: each must appear in fetches and in the history, and leave the digests right.
struct ForeignWriteTests {
    /// A write of the old code, and the changes that the history must record.
    struct Write: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let sql: String
        var foreignKeys = false
        let changes: Set<String>

        init(_ name: String, _ sql: String, foreignKeys: Bool = false, _ changes: Set<String>) {
            (testDescription, self.sql, self.foreignKeys, self.changes) = (name, sql, foreignKeys, changes)
        }
    }

    static let writes = [
        Write("insert", "INSERT INTO account (title) VALUES ('New')", ["insert Account"]),
        Write(
            "update",
            "UPDATE account SET hidden = 1, title = 'Money' WHERE id = 3",
            ["update Account title,isHidden"]
        ),
        Write("update of a column that is not mapped", "UPDATE account SET cached_total = 5", []),
        Write("update to the same values", "UPDATE account SET title = title", []),
        Write(
            "update to nil",
            "UPDATE account SET opened = NULL, parent_id = NULL",
            ["update Account openedAt", "update Account parentID"]
        ),
        Write("delete", "DELETE FROM booking WHERE id = 2", ["delete Booking"]),
        Write("delete without a condition", "DELETE FROM label", ["delete Label"]),
        Write(
            "upsert",
            "INSERT INTO account (id, title) VALUES (2, 'Purse') ON CONFLICT (id) DO UPDATE SET title = excluded.title",
            ["update Account title"]
        ),
        Write(
            "upsert that does nothing",
            "INSERT INTO account (id, title) VALUES (2, 'Purse') ON CONFLICT DO NOTHING",
            []
        ),
        Write("insert or ignore", "INSERT OR IGNORE INTO account (title) VALUES ('Cash')", []),
        Write(
            "insert or replace of the same key",
            "INSERT OR REPLACE INTO account (id, title) VALUES (2, 'Purse')",
            ["update Account title,isHidden,parentID"]
        ),
        Write(
            "insert or replace by another unique column",
            "INSERT OR REPLACE INTO account (id, title) VALUES (9, 'Bank')",
            ["insert Account", "delete Account"]
        ),
        Write(
            "update or replace",
            "UPDATE OR REPLACE account SET title = 'Bank' WHERE id = 2",
            ["update Account title", "delete Account"]
        ),
        Write(
            "insert or replace with recursive triggers",
            "PRAGMA recursive_triggers = ON; INSERT OR REPLACE INTO account (id, title) VALUES (9, 'Bank')",
            ["insert Account", "delete Account"]
        ),
        Write("update of a key", "UPDATE label SET id = 20 WHERE id = 2", ["insert Label", "delete Label"]),
        Write(
            "cascade",
            "DELETE FROM account WHERE id = 3",
            foreignKeys: true,
            ["delete Account", "delete Booking"]
        ),
        Write(
            "cascade to links",
            "DELETE FROM label WHERE id = 2",
            foreignKeys: true,
            ["delete Label", "update Booking labelIDs"]
        ),
        Write("insert of a link", "INSERT INTO booking_label VALUES (2, 1)", ["update Booking labelIDs"]),
        Write("insert or replace of a link", "INSERT OR REPLACE INTO booking_label VALUES (1, 1)", []),
        Write("delete of links", "DELETE FROM booking_label WHERE booking_id = 1", ["update Booking labelIDs"]),
        Write(
            "move of a link",
            "UPDATE booking_label SET booking_id = 2 WHERE label_id = 1",
            ["update Booking labelIDs"]
        ),
        Write("link of nothing", "INSERT INTO booking_label VALUES (77, 1)", []),
        Write(
            "insert with links",
            "INSERT INTO booking VALUES (9, 1, 1, 'x', 1); INSERT INTO booking_label VALUES (9, 2)",
            ["insert Booking"]
        ),
        Write("undone", "BEGIN; DELETE FROM account; DELETE FROM booking; ROLLBACK", []),
        Write(
            "insert and delete",
            "INSERT INTO label (id, name) VALUES (50, 'a'); DELETE FROM label WHERE id = 50",
            []
        ),
        Write(
            "delete and insert again",
            "DELETE FROM label WHERE id = 2; INSERT INTO label VALUES (2, 'b')",
            [
                "delete Label", "insert Label", "update Booking labelIDs",
            ]
        ),
        Write(
            "insert from a select",
            "INSERT INTO label (name) SELECT title FROM account",
            ["insert Label"]
        ),
    ]

    private func changes(_ store: MappedSQLiteStore, after token: HistoryToken) throws -> [HistoryChange] {
        let transactions = try store.fetchHistory(after: token)
        #expect(transactions.allSatisfy { $0.author == "app" })
        #expect(transactions.count <= 1)
        return transactions.flatMap(\.changes)
    }

    private func words(_ changes: [HistoryChange]) -> Set<String> {
        Set(
            changes.map { change in
                switch change.kind {
                case .insert: "insert \(change.entity)"
                case .update(let names): "update \(change.entity) \(names.joined(separator: ","))"
                case .delete: "delete \(change.entity)"
                }
            }
        )
    }

    @Test(arguments: writes)
    func appearsInFetchesAndInTheHistory(_ write: Write) throws {
        let app = try LedgerApp()
        #expect(try app.records() == app.rows())
        let token = try app.store.read { try $0.currentToken() }
        try app.old(write.sql, foreignKeys: write.foreignKeys)
        #expect(try app.records() == app.rows())
        #expect(words(try changes(app.store, after: token)) == write.changes)
        #expect(try app.old("SELECT count(*) FROM habitstore_changes") == ["0"])
        #expect(try app.store.checkDigests() == [])
        #expect(try app.store.check { _ in }.filter { $0.severity != .anomaly } == [])
    }

    @Test(arguments: writes)
    func isTakenOverByTheNextWrite(_ write: Write) throws {
        let app = try LedgerApp()
        let token = try app.store.read { try $0.currentToken() }
        try app.old(write.sql, foreignKeys: write.foreignKeys)
        try app.store.write(author: "us") { try $0.save(Label("ours")) }
        let transactions = try app.store.fetchHistory(after: token)
        #expect(transactions.map(\.author) == (write.changes.isEmpty ? ["us"] : ["app", "us"]))
        #expect(try app.records() == app.rows())
        #expect(try app.store.checkDigests() == [])
    }

    @Test func aDeletedRowLeavesItsTombstone() throws {
        let app = try LedgerApp()
        let token = try app.store.read { try $0.currentToken() }
        try app.old("DELETE FROM account WHERE id = 2")
        let change = try #require(try changes(app.store, after: token).first)
        #expect(change.kind == .delete(tombstone: ["title": .string("Cash")]))
    }

    /// SQLite gives the key of the last row out again. A store that derived identifiers from keys alone would take the new row for the deleted
    /// record.
    @Test func aKeyThatIsGivenOutAgainIsANewRecord() throws {
        let app = try LedgerApp()
        func account(_ title: String) throws -> Account {
            try #require(try app.store.all(Account.self).first { $0.title == title })
        }
        let bank = try account("Bank")
        try app.old("DELETE FROM account WHERE id = 3; INSERT INTO account (id, title) VALUES (3, 'Safe')")
        let safe = try account("Safe")
        #expect(safe.id != bank.id)
        // Rows that referred to the old one refer to the new one in the app's file.
        #expect(try app.store.all(Booking.self).filter { $0.accountID == safe.id }.count == 2)
        #expect(try app.store.checkDigests() == [])

        try app.store.write { _ = try $0.delete(Account.self, id: safe.id) }
        try app.old("INSERT INTO account (id, title) VALUES (3, 'Vault')")
        #expect(try account("Vault").id != safe.id)
        #expect(try app.store.checkDigests() == [])
        #expect(try app.records() == app.rows())
    }

    @Test func aStoreThatIsOpenedForReadingRefusesWhatItCannotTakeOver() throws {
        let app = try LedgerApp()
        let reader = try app.open(.init(isReadOnly: true))
        defer { reader.close() }
        #expect(try reader.all(Label.self).count == 2)
        try app.old("DELETE FROM label")
        #expect(errorCode { _ = try reader.all(Label.self) } == .busy)
        try app.store.absorb()
        #expect(try reader.all(Label.self) == [])
    }

    /// An older copy that was put back would seem as new as the user's stores once the app had written to it often enough: the check whether it
    /// is the current one must not take these writes over.
    @Test func theBookkeepingIsReadWithoutTakingWritesOver() throws {
        let app = try LedgerApp()
        _ = try app.store.all(Label.self)
        try app.old("INSERT INTO label (name) VALUES ('theirs')")
        app.close()
        let token = try app.store.replicaBookkeeping { try $0.information().token }
        #expect(token == .zero)
        #expect(try app.old("SELECT count(*) FROM habitstore_changes") == ["1"])
        #expect(try app.store.currentToken() > token)
    }

    @Test func aValueWithoutItsFormIsNamed() throws {
        let app = try LedgerApp()
        try app.old("UPDATE account SET opened = 'yesterday' WHERE id = 2")
        let error = try #require(throws: HabitStoreError.self) { try app.store.all(Account.self) }
        #expect(error.code == .invalidValue && error.message.contains("account.opened"), "\(error)")
        try app.old("UPDATE account SET opened = NULL WHERE id = 2")
        #expect(try app.records() == app.rows())
    }

    /// Only the record with such a value is unreadable. Its last known state stays in history and digests until the app corrects it.
    @Test func aValueWithoutItsFormStopsNothingElse() throws {
        let app = try LedgerApp()
        let cash = try #require(try app.store.all(Account.self).first { $0.title == "Cash" })
        try app.old(
            "UPDATE account SET opened = 'yesterday', title = 'Purse' WHERE id = 2; INSERT INTO label (name) VALUES ('theirs'); "
                + "INSERT INTO account (id, title, opened) VALUES (8, 'Odd', 'never'), (9, 'Gone', 'never')"
        )
        #expect(try app.store.all(Label.self).count == 3)
        try app.store.save(Label("ours"))
        try app.store.save(Account("New"))
        let unreadable = try app.store.check { _ in }.filter { $0.severity == .unreadable }
        #expect(unreadable.map(\.kind) == ["valueWithoutForm", "valueWithoutForm"])
        #expect(errorCode { _ = try app.store.read { try $0.model(Account.self, id: cash.id) } } == .invalidValue)
        #expect(errorCode { try app.store.save(cash) } == .invalidValue)
        app.close()
        try app.old(
            "DELETE FROM account WHERE id = 9; UPDATE account SET opened = '2020-01-01 00:00:00.000' WHERE id = 8"
        )
        #expect(try app.store.all(Label.self).count == 4)
        let token = try app.store.currentToken()
        try app.old("UPDATE account SET opened = NULL WHERE id = 2")
        #expect(try app.records() == app.rows())
        #expect(words(try changes(app.store, after: token)) == ["update Account title"])
        #expect(try app.store.checkDigests() == [])
        #expect(try app.store.check { _ in }.allSatisfy { $0.severity == .anomaly })
    }

    /// From the moment on that another store serves, the file itself refuses the old code; a kill lets it write again.
    @Test(arguments: [
        "INSERT INTO account (title) VALUES ('New')", "UPDATE account SET hidden = 1", "DELETE FROM booking",
        "INSERT OR REPLACE INTO account (id, title) VALUES (2, 'Purse')", "INSERT OR IGNORE INTO label VALUES (9, 'x')",
        "DELETE FROM booking_label", "INSERT INTO booking_label VALUES (2, 1)",
    ])
    func oldCodeIsFencedWhileAnotherStoreServes(write: String) throws {
        let app = try LedgerApp()
        let before = try app.rows()
        try app.store.replicate { try $0.setRole(.standby, epoch: 2) }
        let error = #expect(throws: (any Error).self) { try app.old(write) }
        #expect("\(String(describing: error))".contains("in another store now"), "\(String(describing: error))")
        #expect(try app.rows() == before)
        // What follows the other store may write.
        let label = Label("followed")
        let values: [Value] = [.uuid(label.id), .string(label.name)]
        let record = try EncodedRecord(values, layout: LedgerApp.schema.entities[2].layout)
        try app.store.replicate { try $0.apply([ReplicaChange(entity: 2, id: label.id, record)]) }
        #expect(try app.rows().count == before.count + 1)
        #expect(throws: (any Error).self) { try app.old(write) }
        #expect(errorCode { try MappedSQLiteStore.unadopt(app.path) } == .notAuthoritative)
        try app.store.replicate { try $0.setRole(.authoritative, epoch: 3) }
        try app.old(write)
        #expect(try app.records() == app.rows())
        #expect(try app.store.checkDigests() == [])
    }

    @Test func anOutdatedFileIsGivenBackOnRequestOnly() throws {
        let app = try LedgerApp()
        try app.store.replicate { try $0.setRole(.standby, epoch: 2) }
        app.close()
        #expect(errorCode { try MappedSQLiteStore.unadopt(app.path) } == .notAuthoritative)
        try MappedSQLiteStore.unadopt(app.path, allowsOutdated: true)
        try app.old("INSERT INTO account (title) VALUES ('New')")
    }

    // MARK: Changed tables

    @Test func aTableThatWasCreatedAgainIsRefused() throws {
        let app = try LedgerApp()
        #expect(try app.store.all(Label.self).count == 2)
        try app.old(
            "CREATE TABLE new (id INTEGER PRIMARY KEY, name TEXT NOT NULL); INSERT INTO new SELECT * FROM label; DROP TABLE label; "
                + "ALTER TABLE new RENAME TO label"
        )
        let error = try #require(throws: HabitStoreError.self) { try app.store.all(Label.self) }
        #expect(error.code == .schemaMismatch && error.message.contains("adopt it again"), "\(error)")
        #expect(errorCode { try app.store.write { try $0.save(Label("x")) } } == .schemaMismatch)
        app.close()
        #expect(errorCode { _ = try app.open() } == .schemaMismatch)
        try MappedSQLiteStore.unadopt(app.path)
        try app.adopt()
        #expect(try app.records() == app.rows())
    }

    @Test func aColumnThatIsAddedLeavesTheStoreAtWork() throws {
        let app = try LedgerApp()
        #expect(try app.store.all(Label.self).count == 2)
        try app.old("ALTER TABLE label ADD COLUMN color TEXT; INSERT INTO label (name, color) VALUES ('x', 'red')")
        #expect(try app.records() == app.rows())
        try app.store.save(Label("ours"))
        #expect(try app.records() == app.rows())
    }

    @Test func aTriggerThatIsMissingIsRefused() throws {
        let app = try LedgerApp()
        let triggers = try app.old("SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY 1")
        for name in triggers {
            let sql = try #require(try app.old("SELECT sql FROM sqlite_schema WHERE name = '\(name)'").first)
            try app.old("DROP TRIGGER \(name)")
            #expect(errorCode { _ = try app.store.all(Label.self) } == .schemaMismatch, "\(name)")
            try app.old(sql)
            #expect(errorCode { _ = try app.store.all(Label.self) } == nil, "\(name)")
        }
    }

    // MARK: At random

    @Test(arguments: (0..<4).map { _ in UInt64.random(in: 0...UInt64.max) })
    func randomWritesOfBothStayTold(_ seed: UInt64) throws {
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let app = try LedgerApp()
        let store = try app.store
        var told = try Told(store)
        for _ in 0..<250 {
            if generator.chance(60) {
                // A statement that a constraint refuses changes nothing.
                let sql = OldStatement.random(&generator)
                _ = try? app.old(sql, foreignKeys: generator.chance(50))
            } else {
                try? OwnWrite.random(&generator, app)
            }
            if generator.chance(40) { continue }
            let (records, rows) = (try app.records(), try app.rows())
            let isSame = records == rows
            try #require(isSame, "seed \(seed): \(records.symmetricDifference(rows).sorted())")
            try told.follow(store, "seed \(seed)")
        }
        #expect(try store.checkDigests() == [], "seed \(seed)")
    }
}

/// The records that a follower of the history knows, and the changes reported since.
private struct Told {
    private var token: HistoryToken
    private var records: [UUID: [Value]]

    init(_ store: MappedSQLiteStore) throws {
        (token, records) = try store.read { (try $0.currentToken(), try Self.all($0)) }
    }

    private static func all(_ transaction: any ReadTransaction) throws -> [UUID: [Value]] {
        var all: [UUID: [Value]] = [:]
        for account in try transaction.all(Account.self) {
            all[account.id] = [
                .string(account.title), account.openedAt.map { .date($0) } ?? .null, .bool(account.isHidden),
                account.parentID.map { .uuid($0) } ?? .null,
            ]
        }
        for booking in try transaction.all(Booking.self) {
            all[booking.id] = [
                .int(Int64(booking.amount)), .date(booking.day), booking.note.map { .string($0) } ?? .null,
                booking.accountID.map { .uuid($0) } ?? .null, try Value.links(Array(booking.labelIDs)).normalized(),
            ]
        }
        for label in try transaction.all(Label.self) { all[label.id] = [.string(label.name)] }
        return all
    }

    /// Each difference to the last time must have been reported, with the attributes that changed.
    mutating func follow(_ store: MappedSQLiteStore, _ comment: Comment) throws {
        let (last, present, history) = try store.read { [token] transaction in
            (try transaction.currentToken(), try Self.all(transaction), try transaction.fetchHistory(after: token))
        }
        var told: [UUID: Set<String>] = [:]
        var there = Set(records.keys)
        for change in history.flatMap(\.changes) {
            switch change.kind {
            case .insert:
                #expect(there.insert(change.id).inserted, comment)
                told[change.id, default: []].insert("all")
            case .update(let names):
                #expect(there.contains(change.id), comment)
                told[change.id, default: []].formUnion(names)
            case .delete:
                #expect(there.remove(change.id) != nil, comment)
                told[change.id, default: []].insert("all")
            }
        }
        #expect(there == Set(present.keys), comment)
        for (id, values) in present {
            guard let old = records[id], old != values, told[id]?.contains("all") != true else { continue }
            let entity = [4: Account.entity, 5: Booking.entity, 1: Label.entity][values.count]
            let names = entity?.attributes.dropFirst().map(\.name) ?? []
            for (name, (before, now)) in zip(names, zip(old, values)) where before != now {
                #expect(told[id]?.contains(name) == true, "\(comment): \(name) changed")
            }
        }
        (token, records) = (last, present)
    }
}

private enum OldStatement {
    static func random(_ generator: inout SeededGenerator) -> String {
        func id() -> String { String(generator.int(1...9)) }
        func optional() -> String { generator.chance(30) ? "NULL" : id() }
        let text = "'\(generator.pick(["a", "b", "c", "é", "e\u{301}", "Cash", "Bank"]))'"
        switch generator.int(0...17) {
        case 0: return "INSERT INTO account (title, parent_id) VALUES (\(text), \(optional()))"
        case 1: return "INSERT OR REPLACE INTO account (id, title) VALUES (\(id()), \(text))"
        case 2: return "UPDATE account SET title = \(text) WHERE id = \(id())"
        case 3: return "UPDATE OR REPLACE account SET title = \(text), hidden = 1 WHERE id = \(id())"
        case 4: return "DELETE FROM account WHERE id = \(id())"
        case 5:
            return
                "INSERT INTO booking (amount, day, note, account_id) VALUES (\(id()), 1700000000, \(text), \(optional()))"
        case 6: return "INSERT OR REPLACE INTO booking VALUES (\(id()), \(id()), 1600000000.5, NULL, \(optional()))"
        case 7: return "UPDATE booking SET amount = amount + 1 WHERE id <= \(id())"
        case 8: return "UPDATE OR REPLACE booking SET id = \(id()) WHERE id = \(id())"
        case 9: return "DELETE FROM booking WHERE id = \(id())"
        case 10: return "INSERT INTO label (name) VALUES (\(text))"
        case 11:
            return "INSERT INTO label VALUES (\(id()), \(text)) ON CONFLICT (id) DO UPDATE SET name = excluded.name"
        case 12: return "DELETE FROM label WHERE id = \(id())"
        case 13: return "INSERT OR REPLACE INTO booking_label VALUES (\(id()), \(id()))"
        case 14: return "DELETE FROM booking_label WHERE label_id = \(id())"
        case 15: return "UPDATE OR REPLACE booking_label SET booking_id = \(id()) WHERE label_id = \(id())"
        case 16: return "UPDATE OR REPLACE account SET id = \(id()) WHERE id = \(id())"
        default:
            return "BEGIN; DELETE FROM booking WHERE id = \(id()); INSERT INTO booking (amount, day) VALUES (1, 2); "
                + (generator.chance(30) ? "ROLLBACK" : "COMMIT")
        }
    }
}

private enum OwnWrite {
    /// Picks records by the order of their keys, so that a seed means the same again.
    static func random(_ generator: inout SeededGenerator, _ app: LedgerApp) throws {
        try app.store.absorb()
        func identifiers(_ table: String) throws -> [UUID] {
            try app.old("SELECT hex(id) FROM habitstore_key_\(table) WHERE k0 IN (SELECT id FROM \(table)) ORDER BY k0")
                .compactMap {
                    var text = $0
                    for place in [20, 16, 12, 8] { text.insert("-", at: text.index(text.startIndex, offsetBy: place)) }
                    return UUID(uuidString: text)
                }
        }
        let (accounts, bookings, labels) = (
            try identifiers("account"), try identifiers("booking"), try identifiers("label")
        )
        try app.store.write(author: "us") { transaction in
            for _ in 0..<generator.int(1...4) {
                switch generator.int(0...6) {
                case 0:
                    var account = Account(generator.pick(["x", "y", "z", "w"]))
                    account.parentID = accounts.isEmpty ? nil : generator.pick(accounts)
                    try transaction.save(account)
                case 1 where !accounts.isEmpty: try transaction.delete(Account.self, id: generator.pick(accounts))
                case 2:
                    var booking = Booking(generator.int(0...12))
                    booking.labelIDs = Set(labels.prefix(generator.int(0...3)))
                    booking.accountID = generator.chance(20) ? UUID() : accounts.first
                    try transaction.save(booking)
                case 3 where !bookings.isEmpty:
                    guard var booking = try transaction.model(Booking.self, id: generator.pick(bookings)) else {
                        continue
                    }
                    booking.note = generator.pick([nil, "n", "m"])
                    booking.labelIDs = Set(labels.suffix(generator.int(0...2)))
                    try transaction.save(booking)
                case 4 where !bookings.isEmpty: try transaction.delete(Booking.self, id: generator.pick(bookings))
                case 5: try transaction.save(Label(generator.pick(["p", "q"])))
                case 6 where !labels.isEmpty: try transaction.delete(Label.self, id: generator.pick(labels))
                default: continue
                }
            }
        }
    }
}
