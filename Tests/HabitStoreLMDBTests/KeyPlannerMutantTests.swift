import HabitStoreTesting
import HabitTracker

#if PLANNER_MUTANTS
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import OrderedKeys
import Testing

/// Bugs that need more random queries than a test run has, or records that only older stores have.
@Suite("LMDB's planner with bugs planted")
struct KeyPlannerMutantTests {
    private func store(_ folder: TemporaryFolder, _ mutant: KeyPlannerMutant?) throws -> LMDBHabitStore {
        var options = LMDBHabitStore.Options()
        options.mutant = mutant
        return try LMDBHabitStore(path: folder.store, schema: HabitSchema.current, options: options)
    }

    @Test func aDanglingReferenceIsNoRecord() throws {
        let folder = try TemporaryFolder()
        let filter = FetchDescriptor<Entry>(filter: try FilterExpression(text: "EXISTS habit"))
        let sound = try store(folder, nil)
        let habit = Habit(name: "a")
        try sound.save(habit)
        try sound.save(Entry(habitID: habit.id))
        let layout = Entry.entity.layout
        let id = UUID()
        let values: [Value] = [.uuid(id), .date(Date()), .null, .null, .uuid(UUID())]
        try EncodedRecord(values, layout: layout).withView(layout) { record in
            _ = try sound.core.engine.write { try $0.insert(entity: 1, id: id, record: record) }
        }
        #expect(try sound.fetchCount(filter) == 1)
        sound.close()
        #expect(try store(folder, .danglingReferenceIsRecord).fetchCount(filter) == 2)
    }

    @Test func aPrefixEndsWithAWholeCharacter() throws {
        let folder = try TemporaryFolder()
        let filter = FetchDescriptor<Habit>(filter: try FilterExpression(text: "name BEGINSWITH \"x\""))
        let sound = try store(folder, nil)
        try sound.insert([Habit(name: "xa"), Habit(name: "x\u{301}a")])
        #expect(try sound.fetch(filter).map(\.name) == ["xa"])
        sound.close()
        #expect(try store(folder, .prefixIsExact).fetchCount(filter) == 2)
    }

    @Test func aFailureIsReportedWhereverALaterConditionLeads() throws {
        let folder = try TemporaryFolder()
        let filter = FetchDescriptor<Habit>(filter: try FilterExpression(text: "1 / streak == 1 AND name == \"b\""))
        let sound = try store(folder, nil)
        try sound.insert([Habit(name: "a", streak: 0), Habit(name: "b", streak: 1)])
        #expect(throws: HabitStoreError.self) { try sound.fetch(filter) }
        sound.close()
        #expect(try store(folder, .narrowsBehindFailure).fetch(filter).map(\.name) == ["b"])
    }
}
#endif
