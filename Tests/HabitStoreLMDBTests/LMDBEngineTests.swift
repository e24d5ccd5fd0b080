import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreLMDB

@Suite("LMDB's engine")
struct LMDBEngineTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func aReadOnlyStoreIsReadAndNeverChanged() throws {
        #expect(
            errorCode {
                _ = try LMDBHabitStore(
                    path: folder.store,
                    schema: HabitSchema.current,
                    options: .init(isReadOnly: true)
                )
            } == .notFound
        )
        #expect(
            errorCode {
                _ = try LMDBHabitStore(
                    path: folder.store,
                    schema: HabitSchema.current,
                    options: .init(createsFile: false)
                )
            } == .notFound
        )
        let writing = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        let habit = Habit(name: "a")
        try writing.save(habit)
        writing.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        let store = try LMDBHabitStore(
            path: folder.store,
            schema: HabitSchema.current,
            options: .init(isReadOnly: true)
        )
        #expect(try store.all(Habit.self) == [habit])
        #expect(errorCode { try store.save(Habit(name: "b")) } == .permissionDenied)
        #expect(try store.check { _ in }.isEmpty)
        try store.backup(to: folder.path("copy"))
        store.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == before)
        #expect(try LMDBHabitStore(path: folder.path("copy"), schema: HabitSchema.current).all(Habit.self) == [habit])
    }

    @Test func closingTwiceIsAllowedAndEverythingAfterwardsSaysClosed() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        store.close()
        store.close()
        #expect(errorCode { _ = try store.all(Habit.self) } == .closed)
        #expect(errorCode { try store.save(Habit(name: "a")) } == .closed)
        #expect(errorCode { try store.backup(to: folder.path("copy")) } == .closed)
        #expect(errorCode { _ = try store.check { _ in } } == .closed)
    }

    @Test func aReadInsideAWriteSeesTheStateBefore() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        try store.write { transaction in
            try transaction.insert(HabitTag(name: "new"))
            #expect(try store.all(HabitTag.self).isEmpty)
            #expect(try transaction.all(HabitTag.self).map(\.name) == ["new"])
            #expect(errorCode { try store.save(HabitTag(name: "inner")) } == .unsupported)
        }
        #expect(try store.all(HabitTag.self).map(\.name) == ["new"])
    }

    @Test func aRecordUnderAnotherIdentifierIsRefusedBeforeItIsStored() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        let layout = HabitTag.entity.layout
        let record = try EncodedRecord([.uuid(UUID()), .string("a")], layout: layout)
        let found = errorCode {
            try store.core.engine.write { writer in
                _ = try record.withView(layout) { try writer.insert(entity: 2, id: UUID(), record: $0) }
            }
        }
        #expect(found == .internalInconsistency)
        #expect(try store.all(HabitTag.self).isEmpty)
    }

    @Test func aPrunedHistoryIsGoneUpToTheTokenAndNoFurther() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        for round in 0..<30 { try store.insert((0..<100).map { HabitTag(name: "\(round)-\($0)") }) }
        try store.pruneHistory(through: HistoryToken(rawValue: 20))
        #expect(try store.fetchHistory(after: HistoryToken(rawValue: 20)).map(\.token.rawValue) == Array(21...30))
        #expect(errorCode { _ = try store.fetchHistory(after: HistoryToken(rawValue: 19)) } == .historyExpired)
        #expect(try store.fetchHistory(after: HistoryToken(rawValue: 27)).first?.changes.count == 100)
        try store.pruneHistory(through: HistoryToken(rawValue: 30))
        #expect(try store.currentToken().rawValue == 30)
        try store.save(HabitTag(name: "next"))
        #expect(try store.fetchHistory(after: HistoryToken(rawValue: 30)).map(\.token.rawValue) == [31])
        #expect(try store.check { _ in }.isEmpty)
    }

    @Test func aCountThatAnIndexGivesDecodesNothing() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        try store.insert((0..<10).map { Habit(name: "same", streak: $0) })
        let environment = try LMDBEnvironment.open(path: folder.store, options: LMDBOptions(isReadOnly: false))
        let database = try #require(try environment.openDatabases(names: ["Habit"], create: false).first)
        try environment.withWrite { transaction in
            var first: [UInt8] = []
            try transaction.forEach(database) { record in
                first = Array(record.key)
                return false
            }
            try transaction.put(database, first, [1, 2, 3])
        }
        environment.close()
        let same = FetchDescriptor<Habit>(filter: try FilterExpression(text: "name == \"same\""))
        #expect(try store.fetchCount(same) == 10)
        #expect(try store.fetchCount(FetchDescriptor<Habit>()) == 10)
        #expect(errorCode { _ = try store.fetch(same) } == .corrupt)
    }

    @Test func aWalkDoesNotMeetWhatIsWrittenDuringIt() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        try store.insert((0..<40).map { Entry(date: Date(timeIntervalSinceReferenceDate: Double($0)), habitID: nil) })
        var seen = 0
        try store.write { transaction in
            try transaction.enumerate(FetchDescriptor<Entry>(sortBy: [SortDescriptor(\.date)])) { entry in
                seen += 1
                var entry = entry
                entry.date += 1_000_000
                try transaction.save(entry)
                try transaction.insert(Entry(date: entry.date, habitID: nil))
                return seen < 1_000
            }
        }
        #expect(seen == 40)
        #expect(try store.fetchCount(FetchDescriptor<Entry>()) == 80)
        #expect(try store.check { _ in }.isEmpty)
    }
}
