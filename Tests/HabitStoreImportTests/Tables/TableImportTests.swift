import Foundation
import HabitStoreLMDB
import HabitStoreSQLite
import HabitStoreTesting
import RawStoreFiles
import Testing

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreImport

/// What is imported is what the file says, by the judgement of code that shares nothing with the import.
@Suite(.timeLimit(.minutes(5))) struct TableImportTests {
    @Test func everyRowLinkAndValueArrives() throws {
        let ledger = try LedgerFile()
        let store = try InMemoryHabitStore(schema: LedgerFile.schema)
        let report = try TableImport(try ledger.file(), try LedgerFile.mapping(), schema: LedgerFile.schema)
            .fill(store, notes: ledger.folder.path("store"))
        #expect(report.isVerified, "\(report.differences)")
        #expect(report.entities.map(\.records) == [3, 2, 2] && report.setAside == 0)
        let (accounts, bookings) = (try records(0, store), try records(1, store))
        let bread = try #require(bookings.first { $0[1] == .int(100) })
        #expect(bread[0] == .uuid(try #require(UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"))))
        #expect(bread[2] == .date(Date(timeIntervalSince1970: 1_700_000_000)))
        let cash = try #require(accounts.first { $0[1] == .string("Cash") })
        #expect(bread[5] == cash[0])
        let labels = Set(try records(2, store).map { $0[0] })
        guard case .links(let links) = bread[6] else { return #expect(Bool(false), "\(bread[6])") }
        #expect(Set(links.map { Value.uuid($0) }) == labels)
    }

    @Test func aSecondImportGivesTheSameIdentifiers() throws {
        let ledger = try LedgerFile()
        var all: [[[Value]]] = []
        for engine in ["a.sqlite", "b.lmdb"] {
            let path = ledger.folder.path(engine)
            let store: any UserStoreBackend =
                engine.hasSuffix("lmdb")
                ? try LMDBHabitStore(path: path, schema: LedgerFile.schema, access: .create)
                : try SQLiteHabitStore(path: path, schema: LedgerFile.schema, access: .create)
            defer { store.close() }
            let work = try TableImport(try ledger.file(), try LedgerFile.mapping(), schema: LedgerFile.schema)
            #expect(try work.fill(store, notes: path).isVerified)
            all.append(try (0..<3).flatMap { try records($0, store) })
            // The records are in it: another import would mix with them.
            let error = #expect(throws: HabitStoreError.self) { try work.fill(store, notes: path) }
            #expect(error?.code == .busy)
        }
        #expect(all[0] == all[1])
    }

    @Test func rowsAreSetAsideOnlyIfThatIsAllowed() throws {
        let ledger = try LedgerFile("UPDATE account SET isHidden = 7 WHERE id = 2")
        var options = TableImport.Options()
        options.allowsAside = true
        let work = try TableImport(try ledger.file(), try LedgerFile.mapping(), schema: LedgerFile.schema, options)
        let store = try InMemoryHabitStore(schema: LedgerFile.schema)
        let report = try work.fill(store, notes: ledger.folder.path("store"))
        #expect(report.isVerified, "\(report.differences)")
        #expect(report.setAside == 1 && report.entities.first?.records == 2)
        let aside = try String(contentsOfFile: try #require(report.attachment), encoding: .utf8)
        #expect(aside.contains(#""title":"Cash""#))
    }

    /// What a row that is set aside was linked with was in neither the store nor the file.
    @Test func aRowThatIsSetAsideKeepsItsLinks() throws {
        let ledger = try LedgerFile("UPDATE booking SET amount = 'much' WHERE amount = 100")
        var options = TableImport.Options()
        options.allowsAside = true
        let work = try TableImport(try ledger.file(), try LedgerFile.mapping(), schema: LedgerFile.schema, options)
        let report = try work.fill(
            try InMemoryHabitStore(schema: LedgerFile.schema),
            notes: ledger.folder.path("store")
        )
        #expect(report.isVerified && report.setAside == 1, "\(report.differences)")
        let aside = try String(contentsOfFile: try #require(report.attachment), encoding: .utf8)
        #expect(aside.contains(#""links":{"booking_label":[["food",1],["food",2]]}"#), "\(aside)")
    }

    /// Characters that NFC replaces, an offset, a missing row's key and a link of no row were in neither the store nor a file.
    @Test func whatTheStoreDoesNotSayIsKeptNextToIt() throws {
        let ledger = try LedgerFile(
            """
            UPDATE account SET title = 'Cafe' || char(0x301) WHERE id = 2;
            INSERT INTO booking_label VALUES ('gone', 'food', 2);
            """
        )
        let work = try TableImport(try ledger.file(), try LedgerFile.mapping(), schema: LedgerFile.schema)
        let store = try InMemoryHabitStore(schema: LedgerFile.schema)
        let report = try work.fill(store, notes: ledger.folder.path("store"))
        #expect(report.isVerified, "\(report.differences)")
        #expect(report.keptOriginals == 2 && report.keptLinks == 1 && report.setAside == 0)
        let kept = try lines(report.attachment)
        #expect(kept.count == 3)
        let values = kept.compactMap { $0["values"] as? [String: Any] }
        #expect(values.contains { ($0["title"] as? String)?.utf8.elementsEqual("Cafe\u{301}".utf8) == true }, "\(kept)")
        #expect(values.contains { $0["parent_id"] as? Int == 9 }, "the account that refers to a missing one: \(kept)")
        #expect(values.contains { $0["booking"] as? String == "gone" && $0["region"] as? Int == 2 }, "\(kept)")
        // Nothing in the store says what was `food 1`.
        let keys = try lines(report.keys)
        #expect(keys.count == 3 + 2, "accounts and labels; the keys of bookings are their identifiers")
        let label = try #require(
            keys.first { $0["table"] as? String == "label" && ($0["key"] as? [Any])?.last as? Int == 1 }
        )
        let id = try #require(UUID(uuidString: label["id"] as? String ?? ""))
        #expect(try records(2, store).contains { $0[0] == .uuid(id) && $0[1] == .string("Food") })
        #expect((label["key"] as? [Any])?.first as? String == "food")
    }

    /// The app changed its file after the import.
    @Test func aStoreIsComparedWithTheFileLater() throws {
        let ledger = try LedgerFile()
        func work() throws -> TableImport {
            try TableImport(try ledger.file(), try LedgerFile.mapping(), schema: LedgerFile.schema)
        }
        let store = try InMemoryHabitStore(schema: LedgerFile.schema)
        _ = try work().fill(store, notes: ledger.folder.path("store"))
        let report = try work().verify(store)
        #expect(report.isVerified && report.comparedValues > 10, "\(report.differences)")
        for (change, difference) in [
            ("UPDATE booking SET amount = 101 WHERE amount = 100", "amount is another value in the store"),
            ("INSERT INTO account VALUES (4, 'New', NULL, 0, NULL)", "1 rows have no record"),
            (
                "DELETE FROM account WHERE id = 4; DELETE FROM account WHERE id = 3",
                "3 records in the store, 2 in the file"
            ),
        ] {
            let database = try RawDatabase(path: ledger.path)
            try database.execute(change)
            database.close()
            let differences = try work().verify(store).differences
            #expect(differences.contains { $0.contains(difference) }, "\(differences)")
        }
    }

    /// An app changed its mind about its dates: a column has texts and numbers.
    @Test func aColumnInTwoFormsIsReadByBoth() throws {
        let ledger = try LedgerFile("UPDATE booking SET day = '2023-11-14 22:13:20.500' WHERE amount = 100")
        let form = ("\"seconds 1970\"", "\"seconds 1970 or date grdb\"")
        let work = try TableImport(try ledger.file(), try LedgerFile.mapping(form), schema: LedgerFile.schema)
        let store = try InMemoryHabitStore(schema: LedgerFile.schema)
        let report = try work.fill(store, notes: ledger.folder.path("store"))
        #expect(report.isVerified, "\(report.differences)")
        let days = Set(try records(1, store).map { $0[2] })
        #expect(days == Set([1_700_000_000.5, 1_700_086_400].map { .date(Date(timeIntervalSince1970: $0)) }))
        // The text would be written as a number.
        let kept = try lines(report.attachment).compactMap { $0["values"] as? [String: Any] }
        #expect(kept.contains { $0["day"] as? String == "2023-11-14 22:13:20.500" }, "\(kept)")
        #expect(throws: HabitStoreError.self) {
            try TableImport(try ledger.file(), try LedgerFile.mapping(), schema: LedgerFile.schema)
        }
    }

    /// Links were looked up by bound values, which have neither the affinity nor the collation of a column: an untyped `'100'` belonged to no
    /// row, and was not without one either.
    @Test func linksAreThoseOfAJoin() throws {
        let ledger = try LedgerFile(
            """
            DROP TABLE booking_label;
            CREATE TABLE booking_label (booking, code, region);
            INSERT INTO booking_label VALUES ('100', 'food', 1), ('100', 'food', 1), ('5', 'food', 2);
            """
        )
        let mapping = try LedgerFile.mapping(
            (#""key": {"column": "uid", "form": "uuid lowercase"}"#, #""key": "amount", "excluded": ["uid"]"#)
        )
        let store = try InMemoryHabitStore(schema: LedgerFile.schema)
        let work = try TableImport(try ledger.file(), mapping, schema: LedgerFile.schema)
        #expect(work.check.notes.contains { $0.contains("1 rows repeat another one") }, "\(work.check.notes)")
        let report = try work.fill(store, notes: ledger.folder.path("store"))
        #expect(report.isVerified, "\(report.differences)")
        let bread = try #require(try records(1, store).first { $0[1] == .int(100) })
        guard case .links(let links) = bread[6] else { return #expect(Bool(false), "\(bread)") }
        #expect(links.count == 1 && report.keptLinks == 1)
    }

    /// A reference to a row that the mapping leaves out led nowhere, and its key was in no file.
    @Test func referencesToRowsThatAreLeftOutAreKept() throws {
        let ledger = try LedgerFile()
        let account = #"{"table": "account", "entity": "Account","#
        let label = #"{"table": "label","#
        let mapping = try LedgerFile.mapping(
            (account, #"\#(account) "rows": {"isHidden": 0},"#),
            (label, #"{"table": "account", "entity": null, "rows": {"isHidden": 1}}, \#(label)"#)
        )
        let store = try InMemoryHabitStore(schema: LedgerFile.schema)
        let report = try TableImport(try ledger.file(), mapping, schema: LedgerFile.schema)
            .fill(store, notes: ledger.folder.path("store"))
        #expect(report.isVerified, "\(report.differences)")
        let kept = try lines(report.attachment).compactMap { $0["values"] as? [String: Any] }
        #expect(kept.contains { $0["account_id"] as? Int == 2 }, "\(kept)")
    }

    /// The second reading compared tables only under the names by which the file has them.
    @Test func namesInAnotherCaseAreComparedToo() throws {
        let ledger = try LedgerFile()
        let mapping = try LedgerFile.mapping(
            (#""there": ["code", "region"]}"#, #""there": ["code", "region"], "leadsTo": "LABEL"}"#)
        )
        func work() throws -> TableImport { try TableImport(try ledger.file(), mapping, schema: LedgerFile.schema) }
        let store = try InMemoryHabitStore(schema: LedgerFile.schema)
        #expect(try work().fill(store, notes: ledger.folder.path("store")).isVerified)
        let database = try RawDatabase(path: ledger.path)
        try database.execute("DELETE FROM booking_label WHERE region = 2")
        database.close()
        let differences = try work().verify(store).differences
        #expect(differences.contains { $0.contains("labelIDs is another value") }, "\(differences)")
    }

    /// Lines of an interrupted import stayed next to the store of the next one.
    @Test func filesOfAnEarlierImportAreReplaced() throws {
        let ledger = try LedgerFile()
        let notes = ledger.folder.path("store")
        for name in ["unmapped", "keys"] {
            try "{\"table\":\"old\"}\n".write(toFile: "\(notes).\(name).jsonl", atomically: true, encoding: .utf8)
        }
        let work = try TableImport(try ledger.file(), try LedgerFile.mapping(), schema: LedgerFile.schema)
        let report = try work.fill(try InMemoryHabitStore(schema: LedgerFile.schema), notes: notes)
        for path in [report.attachment, report.keys] {
            #expect(try !lines(path).contains { $0["table"] as? String == "old" })
        }
    }

    private func lines(_ path: String?) throws -> [[String: Any]] {
        try String(contentsOfFile: try #require(path), encoding: .utf8).split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    /// Random files in every form: whatever the check accepts arrives, and the second reading agrees.
    @Test func randomFilesArriveWhole() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        let forms: [(String, String)] = [
            ("seconds 1970", "1600000000 + abs(random()) % 100000000"),
            ("seconds 1970", "1600000000.25 + abs(random()) % 1000"),
            ("milliseconds 1970", "1600000000123 + abs(random()) % 100000000"), ("days 2001", "abs(random()) % 9000"),
            ("julian days", "2459000.25 + abs(random()) % 1000"), ("seconds 2001", "abs(random()) % 700000000 + 0.5"),
            ("date grdb", "strftime('%Y-%m-%d %H:%M:%f', 1600000000 + abs(random()) % 9999, 'unixepoch')"),
            ("date dd.MM.yyyy", "strftime('%d.%m.%Y', 1600000000 + abs(random()) % 99999999, 'unixepoch')"),
            (
                "date yyyyMMdd",
                "CAST(strftime('%Y%m%d', 1600000000 + abs(random()) % 99999999, 'unixepoch') AS INTEGER)"
            ),
            ("date iso8601", "strftime('%Y-%m-%dT%H:%M:%SZ', 1600000000 + abs(random()) % 99999999, 'unixepoch')"),
        ]
        for (form, term) in forms {
            let ledger = try LedgerFile(
                """
                DELETE FROM booking_label; DELETE FROM booking;
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Int.random(in: 1...3_000, using: &random)))
                INSERT INTO booking SELECT lower(hex(randomblob(16))), random(), \(term), CASE i % 3 WHEN 0 THEN NULL ELSE 'n' || i END,
                    (random() % 1000) / 8.0, i % 5 FROM n;
                INSERT INTO booking_label SELECT uid, 'food', 1 + abs(random()) % 3 FROM booking WHERE random() > 0;
                """
            )
            let mapping = try LedgerFile.mapping(("seconds 1970", form))
            let store = try InMemoryHabitStore(schema: LedgerFile.schema)
            let report = try TableImport(try ledger.file(), mapping, schema: LedgerFile.schema)
                .fill(store, notes: ledger.folder.path("store"))
            #expect(report.isVerified, "\(form), seed \(seed): \(report.differences)")
            #expect(report.comparedValues > 0)
        }
    }

    /// Mistakes of an import that the second reading has to find.
    @Test(arguments: ["value", "reference", "link", "missing", "more", "identifier", "date"]) func aMistakeIsFound(
        mistake: String
    ) throws {
        let ledger = try LedgerFile()
        let (file, mapping) = (try ledger.file(), try LedgerFile.mapping())
        let store = try InMemoryHabitStore(schema: LedgerFile.schema)
        var report = try TableImport(file, mapping, schema: LedgerFile.schema).fill(
            store,
            notes: ledger.folder.path("store")
        )
        let layout = LedgerFile.schema.entities[1].layout
        var booking = try #require(try records(1, store).first { $0[1] == .int(100) })
        guard case .uuid(let id) = booking[0] else { return }
        try store.replicate { transaction in
            switch mistake {
            case "value": booking[3] = .string("Bread")
            case "reference": booking[5] = .uuid(UUID())
            case "link": booking[6] = .links([])
            case "date": booking[2] = .date(Date(timeIntervalSince1970: 1_700_000_000.001))
            case "missing": return try transaction.remove(entity: 1, id: id)
            default:
                let other = UUID()
                if mistake == "identifier" { try transaction.remove(entity: 1, id: id) }
                booking[0] = .uuid(other)
                return try transaction.put(entity: 1, id: other, try EncodedRecord(booking, layout: layout))
            }
            try transaction.put(entity: 1, id: id, try EncodedRecord(booking, layout: layout))
        }
        try store.replicaRead { try TableWitness(file, mapping, LedgerFile.schema).compare($0, &report) }
        #expect(!report.isVerified, "\(mistake)")
    }

    @Test func whatIsNoFileOfTablesIsRefused() throws {
        let folder = try TemporaryFolder()
        try folder.write("text", "no database")
        #expect(throws: HabitStoreError.self) { try TableFile(path: folder.path("text")) }
        try SQLiteHabitStore(path: folder.path("store.sqlite"), schema: LedgerFile.schema, access: .create).close()
        let error = #expect(throws: HabitStoreError.self) { try TableFile(path: folder.path("store.sqlite")) }
        #expect(error?.code == .unsupported)
    }

    private func records(_ entity: Int, _ store: any ReplicableStore) throws -> [[Value]] {
        let layout = LedgerFile.schema.entities[entity].layout
        return try store.replicaRead { replica in
            var all: [[Value]] = []
            try replica.enumerate(entity: entity, after: nil) { _, record in
                all.append(try record.values(layout))
                return true
            }
            return all
        }
    }
}
