import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreMapped
import HabitStoreTesting
import RawStoreFiles
import Testing

/// References, links and triggers that an adversary used to make records, history and digests disagree.
struct OddReferenceTests {
    /// Apps say "none" by a number, too: keys that are promised to records that are not there yet must be others.
    @Test func aNumberThatMeansNothingStays() throws {
        let app = try LedgerApp("UPDATE account SET parent_id = -1 WHERE id IN (1, 3);")
        let follower = try HistoryFollower(app.store)
        var child = Account("child")
        let parent = Account("parent")
        child.parentID = parent.id
        try app.store.write { transaction in
            try transaction.save(child)
            try transaction.save(parent)
        }
        #expect(try app.old("SELECT count(*) FROM account WHERE parent_id = -1") == ["2"])
        try follower.expectAgreement()
    }

    @Test func theLeastKeyOfAllEndsNoProcess() throws {
        let app = try LedgerApp("INSERT INTO account (id, title) VALUES (-9223372036854775808, 'least');")
        var child = Account("child")
        child.parentID = UUID()
        #expect(errorCode { try app.store.save(child) } == .limitExceeded)
    }

    /// A reference to a row that is gone, copied by the store, and then the app gives the key out.
    @Test func aCopiedReferenceLeadsWhereTheFirstDoes() throws {
        let app = try LedgerApp("UPDATE booking SET account_id = 4 WHERE id = 1;")
        let follower = try HistoryFollower(app.store)
        let booking = try #require(try app.store.all(Booking.self).first { $0.amount == 100 })
        var copy = Booking(5)
        copy.accountID = booking.accountID
        try app.store.save(copy)
        let found = try app.store.fetch(
            FetchDescriptor<Booking>(filter: try Filter(text: "accountID == uuid(\"\(try #require(copy.accountID))\")"))
        )
        #expect(found.count == 2)
        try app.old("INSERT INTO account (title) VALUES ('New')")
        try follower.expectAgreement()
        #expect(try app.old("SELECT count(*) FROM booking WHERE account_id = 4") == ["2"])
    }

    /// A record that was deleted comes back, while a reference still has its key.
    @Test func aRecordThatReferencesWaitForGetsTheirKey() throws {
        let app = try LedgerApp("UPDATE booking SET account_id = 4 WHERE id = 1;")
        let follower = try HistoryFollower(app.store)
        var account = Account("again")
        account.id = try #require(try app.store.all(Booking.self).first { $0.amount == 100 }?.accountID)
        try app.store.save(account)
        #expect(try app.old("SELECT id FROM account WHERE title = 'again'") == ["4"])
        try follower.expectAgreement()
    }

    @Test func aTextAmongTheReferencesHidesNoneOfThem() throws {
        let app = try LedgerApp(
            "UPDATE booking SET account_id = 4 WHERE id = 1; UPDATE booking SET account_id = 'legacy' WHERE id = 2;"
        )
        let follower = try HistoryFollower(app.store)
        try app.store.save(Account("ours"))
        #expect(try app.old("SELECT id FROM account WHERE title = 'ours'") == ["5"])
        try follower.expectAgreement()
    }

    /// A trigger that runs while promised keys are replaced.
    @Test func aTriggerThatAnswersAPromiseIsHeard() throws {
        let app = try LedgerApp(
            "CREATE TRIGGER moved AFTER UPDATE OF parent_id ON account BEGIN UPDATE label SET name = name || '!' WHERE id = 1; END;"
        )
        let follower = try HistoryFollower(app.store)
        var child = Account("child")
        let parent = Account("parent")
        child.parentID = parent.id
        try app.store.write { transaction in
            try transaction.save(child)
            try transaction.save(parent)
        }
        #expect(try app.store.all(Label.self).contains { $0.name == "food!" })
        try follower.expectAgreement()
    }

    /// Errors that are caught inside a transaction leave nothing of their record.
    @Test func aRecordThatFailsLeavesNothing() throws {
        let app = try LedgerApp(
            """
            CREATE TRIGGER nolink BEFORE INSERT ON booking_label WHEN NEW.label_id = 2 BEGIN SELECT RAISE(ABORT, 'no'); END;
            CREATE TRIGGER keep BEFORE DELETE ON booking WHEN OLD.id = 1 BEGIN SELECT RAISE(ABORT, 'keep'); END;
            """
        )
        let follower = try HistoryFollower(app.store)
        let before = try app.rows()
        let home = try #require(try app.store.all(Label.self).first { $0.name == "home" })
        try app.store.write { transaction in
            let bookings = try transaction.all(Booking.self)
            var booking = try #require(bookings.first { $0.amount == -7 })
            (booking.note, booking.labelIDs) = ("changed", [home.id])
            #expect(errorCode { try transaction.save(booking) } == .invalidValue)
            let kept = try #require(bookings.first { $0.amount == 100 })
            #expect(errorCode { try transaction.delete(kept) } == .invalidValue)
            try transaction.save(Label("good"))
        }
        #expect(try app.rows().subtracting(before) == ["label 3 'good'"])
        #expect(try before.isSubset(of: app.rows()))
        try follower.expectAgreement()
    }

    @Test func whatATriggerIgnoresIsRefused() throws {
        let app = try LedgerApp(
            """
            CREATE TRIGGER frozen BEFORE UPDATE ON booking WHEN OLD.amount = 100 BEGIN SELECT RAISE(IGNORE); END;
            CREATE TRIGGER nolink BEFORE INSERT ON booking_label WHEN NEW.label_id = 2 BEGIN SELECT RAISE(IGNORE); END;
            """
        )
        let follower = try HistoryFollower(app.store)
        var frozen = try #require(try app.store.all(Booking.self).first { $0.amount == 100 })
        frozen.note = "q"
        #expect(errorCode { try app.store.save(frozen) } == .invalidValue)
        var booking = try #require(try app.store.all(Booking.self).first { $0.amount == -7 })
        booking.labelIDs = [try #require(try app.store.all(Label.self).first { $0.name == "home" }).id]
        #expect(errorCode { try app.store.save(booking) } == .invalidValue)
        try follower.expectAgreement()
    }

    /// A trigger on links that writes to their owner, next to one on the owner.
    @Test func aTriggerOnLinksCountsOnce() throws {
        let app = try LedgerApp(
            """
            CREATE TRIGGER touch AFTER INSERT ON booking BEGIN UPDATE booking SET note = ifnull(note, '') || '.' WHERE id = NEW.id; END;
            CREATE TRIGGER counter AFTER INSERT ON booking_label BEGIN UPDATE booking SET note = 'linked' WHERE id = NEW.booking_id; END;
            """
        )
        let follower = try HistoryFollower(app.store)
        var booking = Booking(5)
        booking.labelIDs = Set(try app.store.all(Label.self).map(\.id))
        try app.store.save(booking)
        #expect(try app.store.all(Booking.self).first { $0.amount == 5 }?.note == "linked")
        try follower.expectAgreement()
    }

    /// A cascade, whose trigger gives the key of the deleted row out before the deletion is over.
    @Test(arguments: [true, false])
    func aKeyThatACascadeGivesOutIsAnotherRecords(isOwn: Bool) throws {
        let app = try LedgerApp(
            "CREATE TRIGGER refund AFTER DELETE ON booking BEGIN INSERT OR IGNORE INTO account (title) VALUES ('refund ' || OLD.amount); END;"
        )
        let follower = try HistoryFollower(app.store)
        if isOwn {
            let bank = try #require(try app.store.all(Account.self).first { $0.title == "Bank" })
            try app.store.delete(bank)
        } else {
            try app.old("DELETE FROM account WHERE id = 3", foreignKeys: true)
        }
        try follower.expectAgreement()
    }

    /// A store that follows another one has that store's records, whatever the app's triggers and cascades answer.
    @Test func whatIsFollowedIsNotAnswered() throws {
        let app = try LedgerApp(
            "CREATE TRIGGER touch AFTER UPDATE OF amount ON booking BEGIN UPDATE account SET opened = '2020-01-01 00:00:00.000' WHERE id = NEW.account_id; END;"
        )
        let bank = try #require(try app.store.all(Account.self).first { $0.title == "Bank" })
        let bookings = try app.store.all(Booking.self)
        let cash = try #require(bookings.first { $0.amount == 100 })
        try app.store.replicate { try $0.setRole(.standby, epoch: 2) }
        let changed: [Value] = [
            .uuid(cash.id), .int(101), .date(cash.day), .string("bread"), cash.accountID.map { .uuid($0) } ?? .null,
            .links(cash.labelIDs.sorted { $0.uuidString < $1.uuidString }),
        ]
        let record = try EncodedRecord(changed, layout: LedgerApp.schema.entities[1].layout)
        var changes = [ReplicaChange(entity: 1, id: cash.id, record), ReplicaChange(entity: 0, id: bank.id, nil)]
        changes += bookings.filter { $0.accountID == bank.id }.map { ReplicaChange(entity: 1, id: $0.id, nil) }
        try app.store.replicate { try $0.apply(changes) }
        try app.store.replicate { try $0.setRole(.authoritative, epoch: 3) }
        #expect(try app.store.all(Account.self).map(\.title).sorted() == ["Cash", "Everything"])
        #expect(try app.store.all(Account.self).first { $0.title == "Cash" }?.openedAt == nil)
        #expect(try app.store.all(Booking.self).map(\.amount) == [101])
        #expect(try app.store.checkDigests() == [])
    }

    #if os(Linux)
    /// Opening and closing the file by other means than SQLite's would end the locks of this process's connections: another process would take the
    /// log away from under them.
    @Test func adoptingKeepsTheLocksOfTheProcess() throws {
        let app = try LedgerApp(adopts: false)
        let database = try RawDatabase(path: app.path)
        defer { database.close() }
        try database.execute("INSERT INTO label (name) VALUES ('first')")
        let before = try locks(on: app.path)
        #expect(before > 0)
        try app.adopt()
        #expect(errorCode { try app.adopt() } == .unsupported)
        #expect(try locks(on: app.path) == before)
    }

    /// How many POSIX locks this process has on a file (`man proc_locks`).
    private func locks(on path: String) throws -> Int {
        var status = stat()
        #expect(stat(path, &status) == 0)
        return try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
            .count { $0.contains(" \(getpid()) ") && $0.contains(":\(status.st_ino) ") }
    }
    #endif

    @Test func aReadDuringAWriteSeesWhatOthersWroteBefore() throws {
        let app = try LedgerApp()
        let store = try app.store
        try app.old("INSERT INTO label (name) VALUES ('theirs')")
        try store.write { transaction in
            #expect(try store.all(Label.self).count == 3)
            try transaction.save(Label("ours"))
        }
        #expect(try store.all(Label.self).count == 4)
    }

    /// Writes between the adoption and the first opening belong to the beginning.
    @Test func aFileThatWasHalfAdoptedIsWhole() throws {
        let app = try LedgerApp(adopts: false)
        try app.old(
            "CREATE TRIGGER quick AFTER INSERT ON grdb_migrations BEGIN UPDATE account SET title = 'during' WHERE id = 1; END"
        )
        try app.adopt()
        try app.old("DELETE FROM habitstore_digest; DELETE FROM habitstore_metadata WHERE key NOT LIKE 'mapped.%'")
        try app.old("INSERT INTO grdb_migrations VALUES ('next'); INSERT INTO label (name) VALUES ('between')")
        #expect(try app.store.all(Label.self).count == 3)
        #expect(try app.store.checkDigests() == [])
        #expect(try app.store.fetchHistory(after: .zero).isEmpty)
    }
}

/// A record that others refer to by a text.
private struct Node: PersistentModel {
    var id = UUID()
    var parentID: UUID?

    var parent: Node? { RelationshipScope.one(\Node.parent, parentID) }

    static let entity = EntityDescription(
        Node.self,
        attributes: [.id(\Node.id), .attribute("parentID", \Node.parentID)],
        relationships: [.toOne("parent", \Node.parent, through: "parentID", destination: "Node", inverse: nil)]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        parentID = try row.nextOptionalUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(parentID)
    }
}

extension OddReferenceTests {
    /// Two keys that Swift takes for the same text are two rows: the second reference of a read got the record of the first.
    @Test func keysInTwoUnicodeFormsAreTwoRecords() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("app.sqlite")
        let database = try RawDatabase(path: path)
        try database.execute(
            """
            CREATE TABLE node (name TEXT PRIMARY KEY NOT NULL, parent TEXT REFERENCES node);
            INSERT INTO node VALUES ('caf\u{E9}', NULL), ('cafe\u{301}', NULL), ('x', 'caf\u{E9}'), ('y', 'cafe\u{301}');
            """
        )
        database.close()
        let mapping = try TableMapping(
            parsing: Data(
                #"{"format": 2, "tables": [{"table": "node", "entity": "Node", "relationships": {"parent": "parent"}}]}"#
                    .utf8
            )
        )
        let schema = Schema([Node.self])
        try MappedSQLiteStore.adopt(path, mapping: mapping, schema: schema)
        let store = try MappedSQLiteStore(path: path, mapping: mapping, schema: schema)
        defer { store.close() }
        let nodes = try store.all(Node.self)
        let parents = nodes.compactMap(\.parentID)
        #expect(nodes.count == 4 && Set(parents).count == 2)
        #expect(Set(parents).isSubset(of: nodes.map(\.id)))
    }
}
