import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreRollout
import HabitStoreSQLite
import HabitTracker
import ShadowVerifier

/// Two stores that claim to be equal and are not: an LMDB store that was copied from a SQLite store and then changed without a history entry. The
/// verifier must find every change and nothing else.
struct DivergedPair {
    private(set) var left: FixtureContents
    private(set) var right: FixtureContents
    private(set) var expected: [PairExpectation.Difference] = []
    /// The changes to the second store: entity, identifier and record, or nil if it was removed.
    private(set) var changes: [(entity: String, id: UUID, record: EncodedRecord?)] = []

    init() throws {
        left = try TidyFixture.make()
        right = left
        try plantInHabitsAndTags()
        try plantInEntries()
        try plantInDrafts()
        noteQueries()
    }

    private mutating func expect(
        _ kind: StoreDifference.Kind,
        _ entity: String,
        _ id: UUID? = nil,
        _ attribute: String? = nil
    ) {
        expected.append(.init(kind: kind, entity: entity, id: id, attribute: attribute))
    }

    private mutating func replace<M: PersistentModel>(_ model: M) throws {
        var writer = AttributeWriter(layout: M.entity.layout)
        try model.write(to: &writer)
        changes.append((M.entity.name, model.id, try writer.finish { EncodedRecord(copying: $0) }))
    }

    private mutating func plantInHabitsAndTags() throws {
        right.habits[0].streak += 1
        try replace(right.habits[0])
        expect(.attribute, "Habit", right.habits[0].id, "streak")

        right.habits[2].tagIDs.remove(right.tags[1].id)
        try replace(right.habits[2])
        expect(.attribute, "Habit", right.habits[2].id, "tagIDs")

        right.tags[3].name = "Work"
        try replace(right.tags[3])
        expect(.attribute, "Tag", right.tags[3].id, "name")
    }

    private mutating func plantInEntries() throws {
        let lost = right.entries.remove(at: 10)
        changes.append(("Entry", lost.id, nil))
        expect(.missingInB, "Entry", lost.id)
        for index in [11, 12] {
            let added = Entry(
                id: UUID(uuid: (1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, UInt8(index))),
                date: right.entries[index].date,
                note: "only here",
                habitID: right.habits[1].id
            )
            right.entries.append(added)
            try replace(added)
            expect(.missingInA, "Entry", added.id)
        }
        expect(.count, "Entry")
        try change(20, "note") { $0.note = $0.note == nil ? "" : nil }
        try change(30, "date") {
            $0.date = Date(timeIntervalSinceReferenceDate: $0.date.timeIntervalSinceReferenceDate.nextUp)
        }
        try change(40, "value") { $0.value = ($0.value ?? 0).nextUp }
        let habits = (right.habits[0].id, right.habits[1].id)
        try change(50, "habitID") { $0.habitID = $0.habitID == habits.0 ? habits.1 : habits.0 }
        let remarks = right.entries.indices.filter { $0 > 60 && right.entries[$0].note != nil }
        guard let first = remarks.first,
            let second = remarks.first(where: {
                right.entries[$0].note != right.entries[first].note
            })
        else { throw HabitStoreError(.internalInconsistency, "the tidy fixture has too few notes") }
        let notes = (right.entries[first].note, right.entries[second].note)
        try change(first, "note") { $0.note = notes.1 }
        try change(second, "note") { $0.note = notes.0 }
        let dangling = try change(70, "habitID") {
            $0.habitID = UUID(uuid: (9, 9, 9, 9, 9, 9, 0x49, 9, 0x89, 9, 9, 9, 9, 9, 9, 9))
        }
        expect(.dangling, "Entry", dangling, "habit")
    }

    @discardableResult
    private mutating func change(_ index: Int, _ attribute: String, _ edit: (inout Entry) -> Void) throws -> UUID {
        edit(&right.entries[index])
        try replace(right.entries[index])
        expect(.attribute, "Entry", right.entries[index].id, attribute)
        return right.entries[index].id
    }

    private mutating func plantInDrafts() throws {
        right.drafts[1].attachments.reverse()
        try replace(right.drafts[1])
        expect(.attribute, "Draft", right.drafts[1].id, "attachments")
    }

    /// Adds the queries whose results differ according to their meaning in plain Swift: in the records, in their order, or in a record's values.
    private mutating func noteQueries() {
        let changed = Set(expected.filter { $0.kind == .attribute }.compactMap(\.id))
        for query in FixtureQuery.all {
            let results = (query.result(left.normalized), query.result(right.normalized))
            if results.0 != results.1 || results.0.contains(where: changed.contains) {
                expected.append(.init(query: query.query.name))
            }
        }
    }

    /// Writes both stores.
    func write(to directory: URL, identity: UUID, name: String) throws -> PairExpectation {
        let paths = (
            directory.appendingPathComponent("\(name)-a.sqlite").path,
            directory.appendingPathComponent("\(name)-b.lmdb").path
        )
        try FixtureWriter.write(left, identity: identity, to: paths.0)
        for suffix in ["", "-lock", "-sound"] where FileManager.default.fileExists(atPath: paths.1 + suffix) {
            try FileManager.default.removeItem(atPath: paths.1 + suffix)
        }
        let source = try SQLiteHabitStore(path: paths.0, schema: HabitSchema.current)
        var options = LMDBHabitStore.Options()
        options.identity = UUID(uuid: (7, 7, 7, 7, 7, 7, 0x47, 7, 0x87, 7, 7, 7, 7, 7, 7, 7))
        let target = try LMDBHabitStore(path: paths.1, schema: HabitSchema.current, options: options)
        var copy = Backfill(from: source, to: target)
        // The identifier remains in the file's unused bytes, so it must be the same each time.
        copy.id = identity
        _ = try copy.run()
        try target.replicate { replica in
            for change in changes {
                let entity = try HabitSchema.current.position(ofEntity: change.entity)
                if let record = change.record {
                    try replica.put(entity: entity, id: change.id, record)
                } else {
                    try replica.remove(entity: entity, id: change.id)
                }
            }
        }
        target.close()
        source.close()
        for leftover in ["-wal", "-shm", "-lock"].map({ paths.0 + $0 }) + ["-lock", "-sound"].map({ paths.1 + $0 })
        where FileManager.default.fileExists(atPath: leftover) {
            try FileManager.default.removeItem(atPath: leftover)
        }
        return PairExpectation(
            description: "an LMDB copy of a SQLite store, changed behind the back of the history",
            a: "\(name)-a.sqlite",
            b: "\(name)-b.lmdb",
            differences: expected
        )
    }
}
