import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import OrderedKeys
import Testing

@_spi(Engines) @testable import HabitStoreLMDB

/// A habit's entries are read from the index that has them in their order, and from nowhere else.
@Suite("LMDB's clustering index")
struct LMDBClusteringTests {
    private static let index = "Entry.habitID+date"
    private let folder: TemporaryFolder
    private let path: String
    private let habit = Habit(name: "Run")
    private let entries: [Entry]

    init() throws {
        folder = try TemporaryFolder()
        path = folder.store
        let habit = habit
        entries = (0..<40).map { number in
            let date = Date(timeIntervalSinceReferenceDate: Double(number / 2))
            return Entry(date: date, note: "note \(number)", value: Double(number), habitID: habit.id)
        }
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        try store.save(habit)
        try store.insert(entries)
        store.close()
    }

    /// The habit's entries of ten dates.
    private func range(_ order: SortOrder) -> FetchDescriptor<Entry> {
        let id: UUID? = habit.id
        let (from, to) = (Date(timeIntervalSinceReferenceDate: 5), Date(timeIntervalSinceReferenceDate: 15))
        return FetchDescriptor(
            predicate: #Predicate { $0.habitID == id && $0.date >= from && $0.date < to },
            sortBy: [SortDescriptor(\.date, order: order)]
        )
    }

    private func expected(_ order: SortOrder) -> [Entry] {
        entries[10..<30].sorted { left, right in
            left.date == right.date ? left.id.isBefore(right.id) : (left.date < right.date) == (order == .forward)
        }
    }

    /// Turns the file into one of a version whose index had no copies.
    private func makeOlder() throws {
        try folder.tamper(Self.index) { transaction, database, contents in
            for entry in contents { try transaction.put(database, entry.key, []) }
        }
        try folder.tamper("metadata") { transaction, database, contents in
            let key = Array("indexes".utf8)
            let list = try #require(contents.first { $0.key == key }.map { String(decoding: $0.value, as: UTF8.self) })
            try transaction.put(database, key, Array(list.replacingOccurrences(of: " (clustering)", with: "").utf8))
        }
    }

    private func accessPath(_ store: LMDBHabitStore) throws -> String { try store.explain(range(.forward)).accessPath }

    @Test func aRangeNeverTouchesTheRecords() throws {
        try folder.tamper("Entry") { transaction, database, _ in try transaction.removeAll(database) }
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        for order in [SortOrder.forward, .reverse] {
            #expect(try store.fetch(range(order)) == expected(order))
            var few = range(order)
            (few.fetchOffset, few.fetchLimit) = (3, 5)
            #expect(try store.fetch(few) == Array(expected(order).dropFirst(3).prefix(5)))
        }
        let id: UUID? = habit.id
        let noted = #Predicate<Entry> { $0.habitID == id && ($0.note?.contains("3") ?? false) }
        #expect(
            try store.fetchCount(FetchDescriptor(predicate: noted)) == entries.count { $0.note?.contains("3") ?? false }
        )
        let top = FetchDescriptor(
            predicate: #Predicate<Entry> { $0.habitID == id },
            sortBy: [SortDescriptor(\.value, order: .reverse)],
            fetchLimit: 3
        )
        #expect(try store.fetch(top).map(\.value) == [39, 38, 37])
        // Also in the index's order without a condition on it.
        let valued = FetchDescriptor(
            predicate: #Predicate<Entry> { $0.value ?? 0 > 30 },
            sortBy: [SortDescriptor(\.habitID), SortDescriptor(\.date)]
        )
        #expect(try store.explain(valued).accessPath == "scan Entry by clustering index Entry(habitID, date)")
        #expect(try store.fetch(valued).count == 9)
    }

    @Test func identifiersAreSortedWithTheirCopies() throws {
        try folder.tamper("Entry") { transaction, database, _ in try transaction.removeAll(database) }
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        var byIdentifier = range(.forward)
        byIdentifier.sortBy = []
        let wanted = entries[10..<30].sorted { $0.id.isBefore($1.id) }
        #expect(try store.fetch(byIdentifier) == wanted)
        (byIdentifier.fetchOffset, byIdentifier.fetchLimit) = (3, 5)
        #expect(try store.fetch(byIdentifier) == Array(wanted.dropFirst(3).prefix(5)))
    }

    @Test func recordsThatAreTooLongAreLookedUp() throws {
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        // The longest that is copied, one byte more, and long enough to lie outside of the leaves.
        let layout = Entry.entity.layout
        let length =
            try KeyFormat.longestCopy
            - store.replicaRead { try #require(try $0.record(entity: 1, id: entries[10].id)).bytes.count }
            + "note 10".count
        for (added, isCopied) in [(0, true), (1, false), (9_000, false), (-20, true)] {
            var entry = entries[10]
            entry.note = String(repeating: "n", count: length + added)
            try store.save(entry)
            let copy = try store.core.engine.environment.withRead { transaction in
                let catalog = store.core.engine.catalog
                let database = try catalog.database(catalog.tables[1].indexes[0])
                var found: [UInt8]?
                try transaction.forEach(database) { record in
                    if record.key.suffix(16).elementsEqual(withUnsafeBytes(of: entry.id.uuid) { Array($0) }) {
                        found = Array(record.value)
                    }
                    return true
                }
                return try #require(found)
            }
            #expect(copy.isEmpty != isCopied)
            if isCopied {
                let read = try copy.withUnsafeBytes { bytes in
                    var reader = try RecordView(validating: bytes, layout: layout).reader
                    return try Entry(row: &reader)
                }
                #expect(read == entry)
            }
            #expect(try store.fetch(range(.forward)).first { $0.id == entry.id } == entry)
            #expect(try store.fetch(range(.reverse)).first { $0.id == entry.id } == entry)
            #expect(try store.check { _ in }.isEmpty)
        }
    }

    @Test func anOlderStoreGetsItsCopiesWhenItIsOpenedForWriting() throws {
        try makeOlder()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let reading = try LMDBHabitStore(path: path, schema: HabitSchema.current, options: .init(isReadOnly: true))
        #expect(try accessPath(reading) == "index Entry(habitID, date)")
        #expect(try reading.fetch(range(.reverse)) == expected(.reverse))
        #expect(try reading.check { _ in }.isEmpty)
        reading.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before, "the file was changed")
        let writing = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        #expect(try accessPath(writing) == "clustering index Entry(habitID, date)")
        #expect(try writing.fetch(range(.forward)) == expected(.forward))
        #expect(try writing.check { _ in }.isEmpty)
        writing.close()
        let size = try Data(contentsOf: URL(fileURLWithPath: path))
        try LMDBHabitStore(path: path, schema: HabitSchema.current).close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == size, "the copies were made twice")
    }

    /// A store with one damaged record could be opened, and its other records served; copying all records must not prevent that.
    @Test func aStoreWhoseCopiesCannotBeMadeServesAndKeepsItsIndexAsItIs() throws {
        try makeOlder()
        try folder.tamper("Entry") { transaction, database, contents in
            var value = contents[0].value
            value[value.count - 1] ^= 1
            try transaction.put(database, contents[0].key, value)
        }
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        #expect(try accessPath(store) == "index Entry(habitID, date)")
        let added = Entry(date: Date(timeIntervalSinceReferenceDate: 1_000), habitID: habit.id)
        try store.save(added)
        let date = added.date
        #expect(try store.fetch(FetchDescriptor<Entry>(predicate: #Predicate { $0.date == date })) == [added])
        #expect(try store.check { _ in }.map(\.kind) == ["recordDamaged"])
        store.close()
        // Once repaired, the index gets its copies.
        try folder.tamper("Entry") { transaction, database, contents in
            let damaged = try #require(
                contents.first { entry in
                    entry.value.withUnsafeBytes {
                        (try? RecordView(validating: $0, layout: Entry.entity.layout)) == nil
                    }
                }
            )
            var value = damaged.value
            value[value.count - 1] ^= 1
            try transaction.put(database, damaged.key, value)
        }
        let mended = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        #expect(try accessPath(mended) == "clustering index Entry(habitID, date)")
        #expect(try mended.check { _ in }.isEmpty)
    }

    @Test(arguments: [("indexCopyMissing", 0), ("indexCopyDamaged", 1), ("indexCopyStale", 2)])
    func aCopyThatIsNotTheRecordsIsNamed(_ kind: String, _ change: Int) throws {
        try folder.tamper(Self.index) { transaction, database, contents in
            let stale = try entries[0].encoded(note: "older", id: Array(contents[7].key.suffix(16)))
            let value = contents[7].value
            let values = [[], Array(value.dropLast()) + [(value.last ?? 0) ^ 1], stale]
            try transaction.put(database, contents[7].key, values[change])
        }
        for isReadOnly in [true, false] {
            let store = try LMDBHabitStore(
                path: path,
                schema: HabitSchema.current,
                options: .init(isReadOnly: isReadOnly)
            )
            defer { store.close() }
            let findings = try store.check { _ in }
            #expect(findings.map(\.kind) == [kind])
            #expect(findings.allSatisfy { $0.severity == .damage && $0.entity == "Entry" && $0.id != nil })
        }
    }

    @Test func aDamagedCopyIsNotServed() throws {
        try folder.tamper(Self.index) { transaction, database, contents in
            var value = contents[14].value
            value[value.count - 1] ^= 1
            try transaction.put(database, contents[14].key, value)
        }
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        for order in [SortOrder.forward, .reverse] {
            let error = #expect(throws: HabitStoreError.self) { try store.fetch(range(order)) }
            #expect(error?.code == .corrupt && error?.location.entity == "Entry" && error?.location.id != nil)
        }
        #expect(try store.all(Entry.self).count == entries.count)
    }
}

extension Entry {
    /// The record of an entry with another note and identifier.
    fileprivate func encoded(note: String, id: [UInt8]) throws -> [UInt8] {
        var entry = self
        entry.note = note
        entry.id = id.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        var writer = AttributeWriter(layout: Entry.entity.layout)
        try entry.write(to: &writer)
        return try writer.finish { Array($0) }
    }
}
