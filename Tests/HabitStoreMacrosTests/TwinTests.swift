import Foundation
import HabitStoreMacros
import HabitStoreTesting
import HabitTracker
import Testing

@testable @_spi(Engines) import HabitStore

/// To a store, a model made by the macro is the same as the hand-written one.
struct TwinTests {
    @Test func theSchemaThatShipsHasTheSameTextWhenTheMacroMakesIt() throws {
        try Twins.schema.validate()
        let shipped = HabitSchema.current
        #expect(Twins.schema.storedText == shipped.storedText)
        #expect(
            shipped.entities.indices.map(Twins.schema.shapeHash) == shipped.entities.indices.map(shipped.shapeHash)
        )
    }

    @Test(arguments: TestedStore.files)
    func twinsReadAndChangeTheRecordsOfTheModelsThatAreWrittenOut(_ kind: TestedStore) throws {
        let folder = try TemporaryFolder()
        let tag = ShippedTag(name: "health")
        let habit = Habit(name: "Rún", streak: 3, unit: "km", target: 5.5, tagIDs: [tag.id])
        let entry = Entry(date: Date(timeIntervalSinceReferenceDate: 12.5), note: "early", value: 4, habitID: habit.id)
        let draft = Draft(content: "…", attachments: ["a", "b"])
        let written = try kind.open(in: folder, HabitSchema.current)
        try written.write(author: "app") { transaction in
            try transaction.save(tag)
            try transaction.save(habit)
            try transaction.save(entry)
            try transaction.save(draft)
        }
        written.close()

        let made = try kind.open(in: folder, Twins.schema)
        var twin = try #require(try made.model(Twins.Habit.self, id: habit.id))
        #expect(twin.name == habit.name && twin.createdAt == habit.createdAt && twin.streak == 3)
        #expect(twin.unit == "km" && twin.target == 5.5 && twin.tagIDs == [tag.id] && twin.category == nil)
        #expect(try made.all(Twins.Draft.self).map(\.attachments) == [["a", "b"]])
        try made.read { transaction in
            let found = try transaction.fetch(
                FetchDescriptor<Twins.Entry>(predicate: #Predicate { $0.habit?.name == "Rún" })
            )
            #expect(found.map(\.note) == ["early"])
            #expect(found.first?.habit?.tags.map(\.name) == ["health"])
            #expect(twin.entries.count == 1)
        }
        twin.streak = 4
        try made.save(twin)
        made.close()

        let again = try kind.open(in: folder, HabitSchema.current)
        defer { again.close() }
        var changed = habit
        changed.streak = 4
        #expect(try again.model(Habit.self, id: habit.id) == changed)
        #expect(try again.all(Entry.self) == [entry])
        try again.delete(habit)
        #expect(try again.all(Entry.self).isEmpty)
    }
}
