import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreLMDB

/// Reads a store by the documented format alone, with none of the engine's code except LMDB's wrapper.
@Suite("LMDB's on-disk format")
struct LMDBFormatTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func read(_ names: [String], path: String? = nil) throws -> [LMDBTransaction.Contents] {
        let environment = try LMDBEnvironment.open(path: path ?? folder.store, options: LMDBOptions(isReadOnly: true))
        defer { environment.close() }
        let databases = try environment.openDatabases(names: names, create: false)
        return try environment.withRead { transaction in
            try databases.map { try transaction.contents($0) }
        }
    }

    /// Puts values into a file's `metadata` without the engine.
    private func put(_ values: [String: String], into name: String = "metadata", path: String) throws {
        let environment = try LMDBEnvironment.open(path: path, options: LMDBWrapperTestSample.options())
        defer { environment.close() }
        let database = try #require(try environment.openDatabases(names: [name], create: true).first)
        try environment.withWrite { transaction in
            for (key, value) in values { try transaction.put(database, Array(key.utf8), Array(value.utf8)) }
        }
    }

    private func bytes(_ id: UUID) -> [UInt8] { withUnsafeBytes(of: id.uuid) { Array($0) } }

    private func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }

    private func bigEndian(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    @Test func aReaderOfTheDocumentationFindsEverything() throws {
        let tag = HabitTag(name: "body")
        let habit = Habit(name: "Run", streak: 3, target: 2.5, tagIDs: [tag.id])
        let entry = Entry(date: Date(timeIntervalSinceReferenceDate: 5), habitID: habit.id)
        let store = try LMDBHabitStore(
            path: folder.store,
            schema: HabitSchema.current,
            options: .init(now: { Date(timeIntervalSinceReferenceDate: 9.5) })
        )
        try store.write(author: "me") { transaction in
            try transaction.insert(tag)
            try transaction.insert(habit)
            try transaction.insert(entry)
        }
        try store.save(Habit(id: habit.id, name: "Walk", createdAt: habit.createdAt, target: 2.5, tagIDs: [tag.id]))
        try store.delete(entry)
        store.close()

        let contents = try read([
            "metadata", "Habit", "Entry", "Tag", "Habit.name", "Habit.tagIDs", "Entry.habitID+date", "history",
        ])
        let metadata = Dictionary(
            uniqueKeysWithValues: contents[0].map {
                (String(decoding: $0.key, as: UTF8.self), String(decoding: $0.value, as: UTF8.self))
            }
        )
        #expect(metadata["format"] == "HabitStore 1")
        #expect(
            metadata["indexes"]?.split(separator: "\n").sorted() == [
                "Draft.creationDate", "Entry.date", "Entry.habitID+date (clustering)", "Habit.category",
                "Habit.createdAt", "Habit.name", "Habit.tagIDs", "Tag.name",
            ]
        )
        #expect(contents[1].map(\.key) == [bytes(habit.id)])
        try checkHabit(contents[1][0].value, habit)
        #expect(contents[2].isEmpty)
        #expect(contents[3].map(\.key) == [bytes(tag.id)])
        #expect(contents[4].map(\.key) == [[1] + Array("Walk".utf8) + [0, 0] + bytes(habit.id)])
        #expect(contents[4].allSatisfy { $0.value.isEmpty })
        #expect(contents[5].map(\.key) == [[1] + bytes(tag.id) + bytes(habit.id)])
        #expect(contents[6].isEmpty)
        try checkHistory(contents[7], habit, entry)
    }

    private func checkHabit(_ record: [UInt8], _ habit: Habit) throws {
        #expect(Array(record[0..<4]) == [1, 0, 11, 0])
        let checksum = record.withUnsafeBytes {
            XXHash3.hash(UnsafeRawBufferPointer(rebasing: $0[8...])) & 0xFFFF_FFFF
        }
        #expect(number(record[4..<8]) == checksum)
        // Eleven attributes: two bytes of nulls; category and unit are nil.
        #expect(Array(record[8..<10]) == [0b0001_0000, 0b0000_0001])
        #expect(Array(record[10..<26]) == bytes(habit.id))
        let name = (Int(number(record[26..<30])), Int(number(record[30..<34])))
        #expect(Array(record[name.0..<name.0 + name.1]) == Array("Walk".utf8))
        #expect(Double(bitPattern: number(record[34..<42])) == habit.createdAt.timeIntervalSinceReferenceDate)
        #expect(number(record[42..<50]) == 0)
    }

    private func checkHistory(_ history: LMDBTransaction.Contents, _ habit: Habit, _ entry: Entry) throws {
        let keys = history.map { [bigEndian($0.key[0..<8]), bigEndian($0.key[8..<12])] }
        #expect(keys == [[1, 0], [1, 1], [1, 2], [1, 3], [2, 0], [2, 1], [3, 0], [3, 1]])
        let header = history[0].value
        #expect(Double(bitPattern: number(header[0..<8])) == 9.5)
        #expect(number(header[8..<12]) == 3)
        #expect(Array(header[12...]) == [1] + Array("me".utf8))
        #expect(history[4].value.count == 13 && history[4].value[12] == 0)
        #expect(history[2].value == [1, 5, 0] + Array("Habit".utf8) + bytes(habit.id))
        let update = history[5].value
        #expect(Array(update[0..<24]) == [2, 5, 0] + Array("Habit".utf8) + bytes(habit.id))
        #expect(String(decoding: update[24...], as: UTF8.self) == #"["name","streak"]"#)
        let deletion = history[7].value
        #expect(Array(deletion[0..<24]) == [3, 5, 0] + Array("Entry".utf8) + bytes(entry.id))
        let tombstone = try JSONDecoder().decode([String: [String: JSONScalar]].self, from: Data(deletion[24...]))
        #expect(tombstone == ["date": ["date": .number(5)], "habitID": ["uuid": .text(habit.id.uuidString)]])
    }

    private enum JSONScalar: Decodable, Equatable {
        case number(Double)
        case text(String)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    // MARK: Files that are not stores of this version

    private func code(_ path: String, isReadOnly: Bool = false) -> HabitStoreError? {
        do {
            try LMDBHabitStore(path: path, schema: HabitSchema.current, options: .init(isReadOnly: isReadOnly)).close()
            return nil
        } catch { return error as? HabitStoreError }
    }

    private func expectRefusal(_ expected: HabitStoreError.Code, _ path: String) throws -> [HabitStoreError] {
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let errors = try [true, false].map { isReadOnly in try #require(code(path, isReadOnly: isReadOnly)) }
        #expect(errors.map(\.code) == [expected, expected])
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before, "the file was changed")
        return errors
    }

    @Test func aNewerFormatIsRefusedWithBothNumbers() throws {
        try LMDBHabitStore(path: folder.store, schema: HabitSchema.current).close()
        try put(["format": "HabitStore 2"], path: folder.store)
        for error in try expectRefusal(.newerVersion, folder.store) {
            #expect(error.message.contains("version 2") && error.message.contains("up to 1"))
        }
    }

    @Test func environmentsOfOtherProgramsAreLeftAlone() throws {
        try put(["x": "y"], into: "other", path: folder.path("named"))
        _ = try expectRefusal(.notAStore, folder.path("named"))
        try put(["version": "7"], path: folder.path("metadata"))
        _ = try expectRefusal(.notAStore, folder.path("metadata"))
        for format in ["", "HabitStore", "HabitStore 0", "HabitStore one", "Habits 1"] {
            try put(["format": format], path: folder.path("format"))
            _ = try expectRefusal(.notAStore, folder.path("format"))
        }
    }

    @Test func anEmptyEnvironmentBecomesAStoreOnlyWhenItMayBeWritten() throws {
        try LMDBEnvironment.open(path: folder.store, options: LMDBWrapperTestSample.options()).close()
        #expect(code(folder.store, isReadOnly: true)?.code == .notAStore)
        #expect(code(folder.store) == nil)
        #expect(code(folder.store, isReadOnly: true) == nil)
    }

    /// Each state in which a process can die while it creates a store.
    @Test(arguments: 0..<3) func aStoreWhoseMakingWasInterruptedIsMade(step: Int) throws {
        let path = folder.store
        try put([:], path: path)
        if step > 0 { try put(["format": "HabitStore 1"], path: path) }
        if step > 1 {
            let environment = try LMDBEnvironment.open(path: path, options: LMDBWrapperTestSample.options())
            _ = try environment.openDatabases(
                names: LMDBCatalog.databaseNames(HabitSchema.current),
                create: true
            )
            environment.close()
        }
        #expect(code(path, isReadOnly: true)?.code == .notAStore)
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        try store.save(HabitTag(name: "a"))
        #expect(try store.fetchCount(FetchDescriptor<HabitTag>(filter: FilterExpression(text: "name == \"a\""))) == 1)
        #expect(try store.check { _ in }.isEmpty)
    }

    @Test func aSchemaThatCannotBeKeptIsRefusedAndAnotherShapeChangesNothing() throws {
        let path = folder.store
        try LMDBHabitStore(path: path, schema: HabitSchema.current).close()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(throws: HabitStoreError.self) { try LMDBHabitStore(path: path, schema: LMDBNote.schema) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before, "the file was changed")
        for taken in [
            Schema([LMDBItem<LMDBItemNamedHistory>.self]), Schema([LMDBItem<LMDBItemNamedMetadata>.self]),
            Schema([LMDBItem<LMDBItemRanks>.self, LMDBItem<LMDBItemNamedLikeAnIndex>.self]),
        ] {
            #expect(throws: HabitStoreError.self) { try LMDBCatalog.databaseNames(taken) }
        }
    }
}
