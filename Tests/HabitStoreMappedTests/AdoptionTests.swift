import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreMapped
import HabitStoreTesting
import RawStoreFiles
import Testing

/// What adopting a file changes in it, and what the app's own declarations still do.
struct AdoptionTests {
    private static let more = """
        CREATE INDEX booking_day ON booking (day DESC) WHERE amount > 0;
        CREATE VIEW total AS SELECT sum(amount) FROM booking;
        CREATE TRIGGER touch AFTER UPDATE OF amount ON booking BEGIN UPDATE account SET cached_total = 0 WHERE id = NEW.account_id; END;
        """

    @Test(arguments: [true, false])
    func adoptingAndUnadoptingLeavesTheFileAsItWas(_ hasLog: Bool) throws {
        let app = try LedgerApp(Self.more, hasLog: hasLog, adopts: false)
        let before = try app.dump()
        try app.adopt()
        let during = try app.dump()
        #expect(during.filter { !$0.contains("habitstore") } == before)
        #expect(try app.records() == app.rows())
        app.close()
        try MappedSQLiteStore.unadopt(app.path)
        #expect(try app.dump() == before)
    }

    @Test func aFileThatWasNotAdoptedIsRefused() throws {
        let app = try LedgerApp(adopts: false)
        let before = try app.dump()
        #expect(errorCode { _ = try app.open() } == .notAStore)
        #expect(errorCode { try MappedSQLiteStore.unadopt(app.path) } == .notAStore)
        #expect(try app.dump() == before)
        try app.adopt()
        #expect(errorCode { try app.adopt() } == .unsupported)
    }

    /// A user with a file, one without, and several processes at the same time.
    @Test func aProviderAdoptsOrCreatesFiles() async throws {
        let app = try LedgerApp(adopts: false)
        let mapping = app.mapping
        let path = app.path
        let strict = MappedSQLiteProvider(mapping: mapping, file: { $0 == "me" ? path : "\($0).sqlite" })
        #expect(strict.place(ofUser: "me", inFolder: "f") == path)
        #expect(
            errorCode { _ = try strict.open("you.sqlite", schema: LedgerApp.schema, access: .create) } == .invalidValue
        )
        // A file with tables that no mapping names is not the rollout's to move.
        #expect(errorCode { try strict.remove(app.path) } == .unsupported)
        #expect(errorCode { _ = try strict.setAside(app.path, as: "aside") } == .unsupported)
        #expect(errorCode { _ = try strict.open(app.path, schema: LedgerApp.schema, access: .create) } == .notAStore)
        let missing = app.folder.path("new.sqlite")
        #expect(errorCode { _ = try strict.open(missing, schema: LedgerApp.schema, access: .create) } == .notFound)

        let provider = MappedSQLiteProvider(
            mapping: mapping,
            create: { path in
                let database = try RawDatabase(path: path)
                defer { database.close() }
                try database.execute(LedgerApp.tables)
            },
            adoptsFiles: true
        )
        #expect(
            errorCode { _ = try provider.open(app.path, schema: LedgerApp.schema, access: .readOnly) } == .notAStore
        )
        try await withThrowingTaskGroup(of: Int.self) { group in
            for place in [path, path, path, missing, missing, missing] {
                group.addTask {
                    let store = try provider.open(place, schema: LedgerApp.schema, access: .create)
                    defer { store.close() }
                    return try store.fetchCount(FetchDescriptor<Account>())
                }
            }
            var counts: [Int] = []
            for try await count in group { counts.append(count) }
            #expect(counts.sorted() == [0, 0, 0, 3, 3, 3])
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: app.folder.path).allSatisfy { !$0.hasSuffix(".new") }
        )
    }

    /// A file of the first format, whose log has a write of the app's.
    @Test func aFileOfAnEarlierVersionIsServed() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("app.sqlite")
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../fixtures/adopted-format-1.db").standardized.path
        try FileManager.default.copyItem(atPath: fixture, toPath: path)
        let mapping = try TableMapping(parsing: Data(LedgerApp.mapping.utf8))
        func open(_ options: MappedSQLiteStore.Options) throws -> MappedSQLiteStore {
            try MappedSQLiteStore(path: path, mapping: mapping, schema: LedgerApp.schema, options: options)
        }
        #expect(errorCode { _ = try open(.init(isReadOnly: true)) } == .migrationRequired)
        let store = try open(.init())
        #expect(try store.all(Label.self).map(\.name).sorted() == ["food", "home", "theirs"])
        #expect(try store.fetchHistory(after: .zero).map(\.author) == ["app"])
        let follower = try HistoryFollower(store)
        let database = try RawDatabase(path: path)
        try database.execute("INSERT INTO account (title) VALUES ('New'); UPDATE label SET name = 'house' WHERE id = 2")
        try follower.expectAgreement()
        store.close()
        try MappedSQLiteStore.unadopt(path)
        #expect(try database.run("SELECT name FROM sqlite_schema WHERE name LIKE 'habitstore%'") == [])
        database.close()
    }

    @Test func anotherMappingIsRefused() throws {
        let app = try LedgerApp()
        let text = LedgerApp.mapping.replacingOccurrences(of: "seconds 1970", with: "seconds 2001")
        let other = try TableMapping(parsing: Data(text.utf8))
        #expect(
            errorCode { _ = try MappedSQLiteStore(path: app.path, mapping: other, schema: LedgerApp.schema) }
                == .schemaMismatch
        )
    }

    @Test func aMappingWithFindingsLeavesTheFileAlone() throws {
        let app = try LedgerApp("UPDATE account SET opened = 'once' WHERE id = 1", adopts: false)
        let before = try app.dump()
        #expect(errorCode { try app.adopt() } == .invalidValue)
        #expect(try app.dump() == before)
    }

    @Test func whatCannotBeServedIsRefused() throws {
        let app = try LedgerApp("CREATE UNIQUE INDEX lower_title ON account (lower(title))", adopts: false)
        #expect(errorCode { try app.adopt() } == .unsupported)
        // Without a unique index, a key may belong to two rows tomorrow.
        let keyless = try LedgerApp(
            "DROP TABLE label; CREATE TABLE label (id INTEGER, name TEXT NOT NULL); DROP TABLE booking_label; "
                + "CREATE TABLE booking_label (booking_id INTEGER, label_id INTEGER)",
            adopts: false,
            mapping: LedgerApp.mapping.replacingOccurrences(
                of: "\"entity\": \"Label\",",
                with: "\"entity\": \"Label\", \"key\": \"id\","
            )
        )
        let before = try keyless.dump()
        #expect(errorCode { try keyless.adopt() } == .unsupported)
        #expect(try keyless.dump() == before)
    }

    @Test func aRollbackJournalStaysOne() throws {
        let app = try LedgerApp(hasLog: false)
        try app.store.save(Label("ours"))
        try app.old("INSERT INTO label (name) VALUES ('theirs')")
        #expect(try app.records() == app.rows())
        #expect(try app.old("PRAGMA journal_mode") == ["delete"])
        #expect(try app.folder.names() == ["ledger.sqlite"])
    }

    @Test func aNewRecordGetsTheNextKey() throws {
        let app = try LedgerApp()
        try app.old("DELETE FROM label WHERE id = 2")
        try app.store.save(Label("third"))
        #expect(try app.old("SELECT id FROM label ORDER BY id") == ["1", "3"])
        // A reference may be stored before its record; that is given a proper key when it comes.
        var account = Account("child")
        let parent = Account("parent")
        account.parentID = parent.id
        try app.store.write { transaction in
            try transaction.save(account)
            try transaction.save(parent)
        }
        #expect(try app.old("SELECT id || ' ' || ifnull(parent_id, '-') FROM account WHERE id > 3") == ["4 5", "5 -"])
        #expect(try app.records() == app.rows())
        #expect(try app.store.checkDigests() == [])
    }

    /// A value that is written back in another form than it had would change bytes without a request.
    @Test func untouchedColumnsKeepTheirBytes() throws {
        let app = try LedgerApp()
        for var booking in try app.store.all(Booking.self) {
            booking.amount += 1
            booking.note = "seen"
            try app.store.save(booking)
        }
        #expect(
            try app.old("SELECT typeof(day) || ' ' || day || ' ' || amount FROM booking ORDER BY id")
                == ["integer 1700000000 101", "real 1700086400.0 -6", "real 1700000000.5 43"]
        )
    }

    @Test func aDateThatTheFormCannotHoldIsRefused() throws {
        let app = try LedgerApp()
        var account = Account("fine")
        account.openedAt = Date(timeIntervalSince1970: 1_700_000_000.000_123)
        let error = try #require(throws: HabitStoreError.self) { try app.store.save(account) }
        #expect(error.code == .invalidValue && error.location.attribute == "openedAt", "\(error)")
        account.openedAt = Date(timeIntervalSince1970: 1_700_000_000.125)
        try app.store.save(account)
        #expect(try app.old("SELECT opened FROM account WHERE title = 'fine'") == ["2023-11-14 22:13:20.125"])
    }

    // MARK: The app's declarations

    @Test(arguments: [
        ("CHECK", HabitStoreError.Code.invalidValue, "amount"), ("UNIQUE", .uniqueViolation, "account.title"),
        ("trigger", .invalidValue, "no account may be called Evil"),
    ])
    func aConstraintOfTheAppIsNamed(_ kind: String, _ code: HabitStoreError.Code, _ words: String) throws {
        let app = try LedgerApp(
            "CREATE TRIGGER evil BEFORE INSERT ON account WHEN NEW.title = 'Evil' "
                + "BEGIN SELECT raise(ABORT, 'no account may be called Evil'); END"
        )
        let before = try app.rows()
        let error = try #require(throws: HabitStoreError.self) {
            switch kind {
            case "CHECK": try app.store.save(Booking(13))
            case "UNIQUE": try app.store.save(Account("Cash"))
            default: try app.store.save(Account("Evil"))
            }
        }
        #expect(error.code == code && error.message.contains(words), "\(error)")
        #expect(try app.rows() == before)
        #expect(try app.records() == before)
    }

    @Test func aForeignKeyThatTheAppEnforcesIsNamed() throws {
        let app = try LedgerApp()
        var booking = Booking(1)
        booking.accountID = UUID()
        let error = try #require(throws: HabitStoreError.self) { try app.store.save(booking) }
        #expect(
            error.code == .danglingReference && error.message.contains("booking") && error.message.contains("account"),
            "\(error)"
        )
        #expect(try app.records() == app.rows())
    }

    @Test func whatTheAppsTriggersChangeIsToldAsTheApps() throws {
        let app = try LedgerApp(
            """
            CREATE TRIGGER trimmed AFTER INSERT ON account WHEN NEW.title <> trim(NEW.title)
                BEGIN UPDATE account SET title = trim(title) WHERE id = NEW.id; END;
            CREATE TRIGGER counted AFTER INSERT ON label BEGIN UPDATE booking SET note = NEW.name WHERE id = 1; END;
            """
        )
        let token = try app.store.read { try $0.currentToken() }
        try app.store.write(author: "us") { transaction in
            try transaction.save(Account("  wide  "))
            try transaction.save(Label("first"))
            var booking = try #require(try transaction.all(Booking.self).first { $0.amount == 100 })
            #expect(booking.note == "first")
            booking.note = "between"
            try transaction.save(booking)
            try transaction.save(Label("second"))
        }
        let history = try app.store.fetchHistory(after: token)
        #expect(history.map(\.author) == ["us", "app"])
        #expect(try app.store.all(Account.self).contains { $0.title == "wide" })
        #expect(try app.records() == app.rows())
        #expect(try app.store.checkDigests() == [])
        let told = try #require(history.last).changes.map { "\($0.entity) \($0.kind)" }
        #expect(told.count == 2, "\(told)")
    }

    @Test func cascadesOfOurOwnDeletionsAreTold() throws {
        let app = try LedgerApp()
        let bank = try #require(try app.store.all(Account.self).first { $0.title == "Bank" })
        let token = try app.store.read { try $0.currentToken() }
        try app.store.write(author: "us") { _ = try $0.delete(Account.self, id: bank.id) }
        let history = try app.store.fetchHistory(after: token)
        #expect(history.map(\.author) == ["us", "app"])
        #expect(history.last?.changes.count == 2)
        #expect(try app.records() == app.rows())
        #expect(try app.store.checkDigests() == [])
    }

    @Test func aLockOfTheAppsIsWaitedForAndThenBusy() throws {
        let app = try LedgerApp()
        _ = try app.store
        let other = try RawDatabase(path: app.path)
        try other.execute("BEGIN IMMEDIATE")
        let beginning = Date()
        #expect(errorCode { try app.store.save(Label("x")) } == .busy)
        #expect(Date().timeIntervalSince(beginning) < 5)
        #expect(try app.store.all(Label.self).count == 2)
        try other.execute("COMMIT")
        other.close()
        try app.store.save(Label("x"))
    }

    @Test func aKeyThatNobodyCanChooseIsRefused() throws {
        let app = try LedgerApp(
            "DROP TABLE label; CREATE TABLE label (id TEXT PRIMARY KEY, name TEXT NOT NULL); DELETE FROM booking_label; "
                + "INSERT INTO label VALUES ('a', 'one')"
        )
        #expect(try app.store.all(Label.self).map(\.name) == ["one"])
        #expect(errorCode { try app.store.save(Label("two")) } == .unsupported)
        try app.store.write { transaction in
            for label in try transaction.all(Label.self) { _ = try transaction.delete(Label.self, id: label.id) }
        }
        #expect(try app.old("SELECT count(*) FROM label") == ["0"])
    }
}
