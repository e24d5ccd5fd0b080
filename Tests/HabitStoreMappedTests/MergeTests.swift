import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreLMDB
import HabitStoreSQLite
import HabitStoreTesting
import RawStoreFiles
import Testing

/// Rows of a file come into a store that has records already: nothing is there twice, nothing is overwritten, nothing comes back.
@Suite(.timeLimit(.minutes(2))) struct MergeTests {
    private static let natural = LedgerApp.mapping
        .replacingOccurrences(of: #""entity": "Label","#, with: #""entity": "Label", "naturalKey": "name","#)
        .replacingOccurrences(
            of: #""entity": "Account","#,
            with: #""entity": "Account", "naturalKey": ["title", "isHidden"],"#
        )

    private func merge(
        _ launch: LaunchApp,
        _ store: any UserStoreBackend,
        allowsAside: Bool = false
    ) throws -> TableImport.Report {
        var options = TableImport.Options()
        options.allowsAside = allowsAside
        let work = try TableImport(try TableFile(path: launch.file), launch.mapping, schema: launch.schema, options)
        return try work.merge(into: store, notes: launch.storePath)
    }

    private func kept(_ report: TableImport.Report) throws -> [String] {
        guard let path = report.attachment else { return [] }
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
        return lines.filter { !$0.contains("the original values") }
    }

    /// The user created a label and an account of the same names before the file came.
    @Test(arguments: LaunchApp.Engine.allCases)
    func rowsAreTheRecordsWithTheirNaturalKeys(_ engine: LaunchApp.Engine) throws {
        let launch = try LaunchApp(engine)
        launch.mapping = try TableMapping(parsing: Data(Self.natural.utf8))
        let store = try launch.created()
        defer { store.close() }
        let food = Label("food")
        var cash = Account("Cash")
        cash.isHidden = true
        var (mine, other) = (Booking(9), Booking(10))
        (mine.labelIDs, mine.accountID, other.note) = ([food.id], cash.id, "own")
        let (account, bookings) = (cash, [mine, other])
        try store.write(author: "app") { transaction in
            try transaction.save(food)
            try transaction.save(account)
            for booking in bookings { try transaction.save(booking) }
        }
        let token = try store.currentToken()

        let report = try merge(launch, store)
        #expect(report.isVerified, "\(report.differences)")
        let merged = try #require(report.merged)
        // Label food, with the same values; account Cash, which has another parent in the file.
        #expect(merged.inserted == 6 && merged.unchanged == 1 && merged.differing == 1 && merged.matched == 2)
        #expect(try kept(report).count == 1 && kept(report)[0].contains(#""title":"Cash""#))
        let bread = try #require(try store.all(Booking.self).first { $0.amount == 100 })
        #expect(bread.accountID == cash.id && bread.labelIDs.contains(food.id))
        #expect(try store.all(Label.self).map(\.name).sorted() == ["food", "home"])
        #expect(try store.all(Account.self).count == 3 && store.all(Account.self).contains(cash))
        #expect(try store.all(Booking.self).filter { [9, 10].contains($0.amount) }.count == 2)
        let authors = try store.fetchHistory(after: token).map { $0.author ?? "" }
        #expect(authors == ["table import"])

        // A second time, and after the user's changes.
        let after = try store.currentToken()
        let again = try merge(launch, store)
        #expect(again.isVerified && again.merged?.inserted == 0 && again.merged?.matched == 2)
        let repeated = try store.currentToken()
        #expect(try repeated == after && kept(again).count == 1)
        try store.write(author: "app") { transaction in
            var changed = bread
            changed.note = "rye"
            try transaction.save(changed)
            try transaction.delete(Label.self, where: #Predicate { $0.name == "home" })
        }
        let late = try merge(launch, store)
        // The booking of rent has a link to the label that is gone.
        #expect(late.isVerified && late.merged?.deleted == 1 && late.merged?.inserted == 0, "\(late)")
        #expect(
            try store.all(Booking.self).contains { $0.note == "rye" }
                && !store.all(Label.self).contains { $0.name == "home" }
        )
    }

    /// A match was forgotten: after the user renamed or deleted the record, the row came as a second one.
    @Test func whatARowIsIsRemembered() throws {
        let launch = try LaunchApp()
        launch.mapping = try TableMapping(parsing: Data(Self.natural.utf8))
        let store = try launch.created()
        defer { store.close() }
        var mine = [Label("food"), Label("home")]
        for label in mine { try store.save(label) }
        #expect(try merge(launch, store).merged?.matched == 2)
        mine[0].name = "renamed"
        try store.save(mine[0])
        try store.write(author: "app") { _ = try $0.delete(Label.self, id: mine[1].id) }
        try launch.app.old("INSERT INTO label VALUES (3, 'new'), (4, 'food')")
        let report = try merge(launch, store)
        let merged = try #require(report.merged)
        #expect(report.isVerified, "\(report.differences)")
        #expect(merged.inserted == 2 && merged.deleted == 1 && merged.differing == 1, "\(merged)")
        #expect(try store.all(Label.self).map(\.name).sorted() == ["food", "new", "renamed"])
        // Damaged lines were passed over, and renamed records came twice; the end of one that a full disk cut off is no damage.
        let keys = launch.storePath + ".keys.jsonl"
        let lines = try String(contentsOfFile: keys, encoding: .utf8)
        try (lines + #"{"id":"6BA7"#).write(toFile: keys, atomically: true, encoding: .utf8)
        #expect(try merge(launch, store).merged?.inserted == 0)
        for damaged in [lines.replacing("\"row\"", with: "\"rOw\":1,"), "damaged\n" + lines] {
            try damaged.write(toFile: keys, atomically: true, encoding: .utf8)
            let error = #expect(throws: HabitStoreError.self) { try merge(launch, store) }
            #expect(error?.code == .corrupt && error?.location.path == keys, "\(error.debugDescription)")
        }
        try lines.write(toFile: keys, atomically: true, encoding: .utf8)
        // A store that was made anew knows nothing of it.
        store.close()
        for suffix in ["", "-wal", "-shm", "-lock"] {
            try? FileManager.default.removeItem(atPath: launch.storePath + suffix)
        }
        let other = try launch.created()
        defer { other.close() }
        try other.save(Label("home"))
        #expect(try merge(launch, other).merged?.matched == 1)
    }

    /// A row whose key is no identifier was taken for a missing record.
    @Test func aRowWithoutAKeyIsSetAside() throws {
        let launch = try LaunchApp(
            .sqlite,
            "CREATE TABLE other (uid TEXT, name TEXT NOT NULL); INSERT INTO other VALUES (NULL, 'x'), ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'y')"
        )
        let label = #"{"table": "label", "entity": "Label","#
        let text = LedgerApp.mapping.replacingOccurrences(
            of: label,
            with:
                #"{"table": "other", "entity": "Label", "key": {"column": "uid", "form": "uuid"}, "attributes": {"name": "name"}}, "#
                + label
        )
        launch.mapping = try TableMapping(parsing: Data(text.utf8))
        let store = try launch.created()
        defer { store.close() }
        let report = try merge(launch, store, allowsAside: true)
        #expect(
            report.isVerified && report.setAside == 1 && report.merged?.inserted == 9,
            "\(report.differences) \(report)"
        )
    }

    /// Two files of one app, such as of two devices: the records are the same in either order.
    @Test func filesComeInAnyOrder() throws {
        var found: [Set<String>] = []
        for isTurned in [false, true] {
            let (one, two) = (try LaunchApp(.sqlite), try LaunchApp(.sqlite))
            try two.app.old(
                "DELETE FROM booking_label; DELETE FROM booking; INSERT INTO booking VALUES (7, 77, 1700000000, 'two', 2); "
                    + "INSERT INTO label VALUES (9, 'work'); INSERT INTO booking_label VALUES (7, 1), (7, 9)"
            )
            one.mapping = try TableMapping(parsing: Data(Self.natural.utf8))
            let text = Self.natural.replacingOccurrences(of: #""namespace": "ledger""#, with: #""namespace": "other""#)
            two.mapping = try TableMapping(parsing: Data(text.utf8))
            let store = try one.created()
            defer { store.close() }
            for launch in isTurned ? [two, one, two] : [one, two, one] {
                let report = try merge(launch, store)
                #expect(report.isVerified, "\(report.differences)")
            }
            found.append(try LaunchApp.records(store))
            #expect(try found.last == one.rows().union(two.rows()))
            #expect(try store.all(Label.self).count == 3 && store.all(Account.self).count == 3)
        }
        #expect(found[0] == found[1])
    }

    /// What the store's rules refuse is not merged silently.
    @Test func aRefusedRowStopsTheMergeUnlessItMayBeSetAside() throws {
        let launch = try LaunchApp(.sqlite)
        launch.schema = Schema([Account.self, Booking.self, Unique.Label.self])
        let store = try SQLiteHabitStore(path: launch.storePath, schema: launch.schema)
        defer { store.close() }
        try store.save(Unique.Label(name: "food"))
        let token = try store.currentToken()
        let error = #expect(throws: HabitStoreError.self) { try merge(launch, store) }
        #expect(
            error?.code == .invalidValue
                && error?.message.contains("refuse 1 row, first label 1: another record has the same name") == true
        )
        #expect(try store.currentToken() == token)
        // A launch says so, too, and the old file serves.
        guard case .oldFile(let record) = try launch.open() else { return #expect(Bool(false)) }
        #expect(record.reason?.code == "invalidValue")
        let report = try merge(launch, store, allowsAside: true)
        #expect(
            report.isVerified && report.merged?.refused == 1 && report.merged?.inserted == 7,
            "\(report.differences)"
        )
        #expect(try kept(report).contains { $0.contains("another record has the same name") })
    }

    @Test(arguments: [
        (#""naturalKey": "nam""#, "has no attribute \"nam\""),
        (#""naturalKey": "labelIDs""#, "cannot be in a natural key"),
    ])
    func aNaturalKeyIsMadeOfMappedValues(_ key: String, _ finding: String) throws {
        let launch = try LaunchApp()
        let text = LedgerApp.mapping.replacingOccurrences(
            of: #""entity": "Booking","#,
            with: #""entity": "Booking", \#(key),"#
        )
        let mapping = try TableMapping(parsing: Data(text.utf8))
        #expect(try TableMapping(parsing: Data(mapping.json().utf8)) == mapping)
        let report = try mapping.check(try TableFile(path: launch.file), schema: launch.schema)
        #expect(report.findings.map(\.message).contains { $0.contains(finding) }, "\(report.findings)")
    }
}

/// The ledger's schema with labels whose names are unique.
private enum Unique {
    struct Label: PersistentModel {
        var id = UUID()
        var name: String

        static let entity = EntityDescription(
            Label.self,
            attributes: [.id(\Label.id), .attribute("name", \Label.name, .unique)]
        )

        init(name: String) { self.name = name }

        init(row: inout AttributeReader) throws { (id, name) = (try row.nextUUID(), try row.nextString()) }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(name)
        }
    }
}
