import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import RawStoreFiles
import Testing

@_spi(Engines) @testable import HabitStoreLMDB

@Suite("LMDB's check")
struct LMDBCheckTests {
    private let folder: TemporaryFolder
    private let path: String
    private let habit = Habit(name: "Run", tagIDs: [])

    init() throws {
        folder = try TemporaryFolder()
        path = folder.store
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        try store.save(habit)
        try store.insert(
            (0..<30).map { Entry(date: Date(timeIntervalSinceReferenceDate: Double($0)), habitID: habit.id) }
        )
        #expect(try store.check { _ in }.isEmpty)
        store.close()
    }

    private func findings(isReadOnly: Bool = false) throws -> [StoreFinding] {
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current, options: .init(isReadOnly: isReadOnly))
        defer { store.close() }
        return try store.check { _ in }
    }

    private func expectKinds(_ kinds: [String]) throws {
        for isReadOnly in [true, false] {
            let found = try findings(isReadOnly: isReadOnly)
            #expect(found.map(\.kind) == kinds)
            #expect(found.allSatisfy { $0.severity == .damage })
        }
    }

    @Test func anIndexEntryThatIsMissingIsFound() throws {
        try folder.tamper("Entry.date") { transaction, database, contents in
            _ = try transaction.delete(database, contents[3].key)
        }
        try expectKinds(["indexEntryMissing"])
        #expect(try findings()[0].entity == "Entry" && findings()[0].id != nil)
    }

    /// Records that no store writes, more than a walk lists: they are found, hide nothing else, and do not prevent opening or rescuing the store.
    @Test func recordsAmongTheDatabasesAreFoundAndHideNothing() throws {
        try folder.tamper("Entry.date") { transaction, database, contents in
            _ = try transaction.delete(database, contents[3].key)
        }
        let environment = try RawEnvironment(path: path)
        try environment.write { transaction in
            for number in 0..<2_000 {
                let key = Array("stray\(number)".utf8)
                try transaction.put(
                    RawTransaction.main,
                    key,
                    [UInt8](repeating: 1, count: number % 10 == 0 ? 5_000 : 1)
                )
            }
        }
        environment.close()
        try expectKinds(["foreignRecord", "indexEntryMissing"])
        let rescued = try RescuedLMDBStore(rescuing: path, schema: HabitSchema.current)
        defer { rescued.close() }
        #expect(try rescued.all(Entry.self).count == 30)
    }

    @Test func anIndexEntryThatNoRecordCallsForIsFound() throws {
        try folder.tamper("Entry.date") { transaction, database, contents in
            var key = contents[3].key
            key[4] ^= 1
            try transaction.put(database, key, [])
            key[key.count - 1] ^= 1
            try transaction.put(database, key, [])
            try transaction.put(database, [9], [])
        }
        try expectKinds(["indexEntryExtra", "indexEntryExtra", "indexEntryExtra"])
    }

    @Test func anIndexEntryInTheWrongPlaceIsMissingAndExtra() throws {
        try folder.tamper("Habit.name") { transaction, database, contents in
            _ = try transaction.delete(database, contents[0].key)
            var key = contents[0].key
            key[1] ^= 1
            try transaction.put(database, key, [])
        }
        try expectKinds(["indexEntryMissing", "indexEntryExtra"])
    }

    @Test func anIndexEntryWithAValueIsFound() throws {
        try folder.tamper("Habit.name") { transaction, database, contents in
            try transaction.put(database, contents[0].key, [1])
        }
        try expectKinds(["indexEntryDamaged"])
    }

    @Test func aRecordThatChangedOrMovedIsFoundAndNotServed() throws {
        try folder.tamper("Habit") { transaction, database, contents in
            var value = contents[0].value
            value[40] ^= 4
            try transaction.put(database, contents[0].key, value)
        }
        try expectKinds(["recordDamaged"])
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        for read in [{ _ = try store.all(Habit.self) }, { _ = try store.model(Habit.self, id: self.habit.id) }] {
            let error = #expect(throws: HabitStoreError.self) { try read() }
            #expect(error?.code == .corrupt && error?.location.id == habit.id && error?.location.entity == "Habit")
        }
        store.close()
        try folder.tamper("Habit") { transaction, database, contents in
            var value = contents[0].value
            value[40] ^= 4
            var key = contents[0].key
            _ = try transaction.delete(database, key)
            key[0] ^= 1
            try transaction.put(database, key, value)
        }
        #expect(try findings().contains { $0.kind == "recordDamaged" })
        let moved = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        let error = #expect(throws: HabitStoreError.self) { try moved.all(Habit.self) }
        #expect(error?.code == .corrupt)
        // The index still leads to where the record was.
        let byName = FetchDescriptor<Habit>(filter: try FilterExpression(text: "name == \"Run\""))
        #expect(throws: HabitStoreError.self) { try moved.fetch(byName) }
    }

    @Test func aHistoryThatContradictsItselfIsFoundAndNotServed() throws {
        try folder.tamper("history") { transaction, database, contents in
            _ = try transaction.delete(database, contents[5].key)
        }
        #expect(try findings().map(\.kind).allSatisfy { $0 == "historyDamaged" })
        #expect(try findings().isEmpty == false)
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        let error = #expect(throws: HabitStoreError.self) { try store.fetchHistory(after: .zero) }
        #expect(error?.code == .corrupt)
    }

    @Test func progressIsToldAndCanEndTheCheck() throws {
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        var told: [Int] = []
        _ = try store.check { told.append($0) }
        #expect(told.contains(31))
        #expect(throws: CancellationError.self) { try store.check { _ in throw CancellationError() } }
        store.close()
        let error = #expect(throws: HabitStoreError.self) { try store.check { _ in } }
        #expect(error?.code == .closed)
    }

    @Test func aCheckBesideAWriterFindsNothing() async throws {
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        let habit = habit
        async let writing: Void = {
            for round in 0..<150 {
                try await store.write(author: nil) { transaction in
                    for _ in 0..<20 { try transaction.insert(Entry(habitID: habit.id)) }
                    if round % 3 == 2 { try transaction.pruneHistory(through: transaction.currentToken()) }
                    let old = try transaction.fetchIdentifiers(FetchDescriptor<Entry>(fetchLimit: 15))
                    for id in old { try transaction.delete(Entry.self, id: id) }
                }
            }
        }()
        for _ in 0..<20 { #expect(try store.core.engine.check { _ in }.isEmpty) }
        try await writing
        #expect(try store.check { _ in }.isEmpty)
    }
}
