import Foundation
import Testing

@testable import HabitStore

@Suite("Lowering of predicates")
struct LoweringTests {
    @Test func predicatesAboutHabitsAreLoweredToWhatTheyMean() {
        let (name, number, upper, flag) = ("Run", 3, 7, true)
        let decomposed = "e\u{301}"
        let names: [String] = ["a", "b"]
        let categories: [String?] = [nil, "x"]
        let none: String? = nil
        let id = UUID()
        let day = Date(timeIntervalSinceReferenceDate: 0.5)
        let cases: [(Predicate<Habit>, String)] = [
            (#Predicate { $0.name == name }, "name == \"Run\""),
            (#Predicate { $0.name == decomposed }, "name == \"\u{e9}\""),
            (#Predicate { name != $0.name }, "\"Run\" != name"),
            (#Predicate { $0.streak >= 3 && $0.isArchived }, "streak >= 3 AND isArchived"),
            (
                #Predicate { $0.streak > 1 && $0.streak < 2 && !$0.isArchived },
                "streak > 1 AND streak < 2 AND NOT isArchived"
            ),
            (#Predicate { $0.streak > 1 || $0.isArchived == flag }, "streak > 1 OR isArchived == true"),
            (#Predicate { $0.category == nil }, "category == nil"),
            (#Predicate { $0.category != none }, "category != nil"),
            (#Predicate { names.contains($0.name) }, "name IN [\"a\", \"b\"]"),
            (#Predicate { categories.contains($0.category) }, "category IN [nil, \"x\"]"),
            (#Predicate { (number...upper).contains($0.streak) }, "streak >= 3 AND streak <= 7"),
            (#Predicate { (number..<upper).contains($0.streak) }, "streak >= 3 AND streak < 7"),
            (#Predicate { $0.name.contains("x") }, "name CONTAINS \"x\""),
            (#Predicate { $0.name.starts(with: "x") }, "name BEGINSWITH \"x\""),
            (#Predicate { $0.name.isEmpty }, "LENGTH(name) == 0"),
            (#Predicate { ($0.category ?? "none") == name }, "COALESCE(category, \"none\") == \"Run\""),
            (
                #Predicate { $0.category?.contains("x") == true },
                "IF(category != nil, category CONTAINS \"x\", nil) == true"
            ),
            (
                #Predicate { $0.isArchived ? $0.streak == 1 : $0.streak == 2 },
                "IF(isArchived, streak == 1, streak == 2)"
            ),
            (#Predicate { $0.streak * 2 + 1 > number }, "((streak * 2) + 1) > 3"),
            (#Predicate { $0.streak % 2 == $0.streak / number }, "(streak % 2) == (streak / 3)"),
            (#Predicate { -$0.streak < 0 }, "(0 - streak) < 0"),
            (#Predicate { $0.createdAt < day }, "createdAt < date(0.5)"),
            (#Predicate { $0.target == 0 }, "target == 0.0"),
            (#Predicate { $0.entries.isEmpty }, "COUNT entries == 0"),
            (#Predicate { $0.entries.contains { $0.note == nil } }, "ANY entries { note == nil }"),
            (#Predicate { $0.entries.allSatisfy { $0.note == nil } }, "ALL entries { note == nil }"),
            (#Predicate { $0.entries.filter { $0.note == nil }.count > 2 }, "COUNT entries { note == nil } > 2"),
            (#Predicate { $0.tags.contains { $0.name == name } }, "ANY tags { name == \"Run\" }"),
            (
                #Predicate { habit in habit.tags.contains { $0.habits.contains { $0.streak > habit.streak } } },
                "ANY tags { ANY habits { streak > $0.streak } }"
            ),
            (#Predicate { $0.tagIDs.contains(id) }, "tagIDs CONTAINS \(Value.uuid(id))"),
            (Predicate.true, "true"),
        ]
        for (predicate, text) in cases { #expect(lowered(predicate) == text) }
    }

    @Test func predicatesAboutEntriesFollowTheirHabit() {
        let name = "Run"
        let cases: [(Predicate<Entry>, String)] = [
            (#Predicate { $0.habit == nil }, "NOT (EXISTS habit)"),
            (#Predicate { $0.habit != nil }, "EXISTS habit"),
            (#Predicate { $0.habit?.name == name }, "habit.name == \"Run\""),
            (#Predicate { $0.habit?.category == nil }, "habit.category == nil"),
            (#Predicate { ($0.habit?.streak ?? 0) > 3 }, "COALESCE(habit.streak, 0) > 3"),
            (#Predicate { $0.habit?.entries.count == 2 }, "IF(EXISTS habit, COUNT habit.entries, nil) == 2"),
        ]
        for (predicate, text) in cases { #expect(lowered(predicate) == text) }
    }

    @Test func whatHasNoFilterFormIsLeftToFoundation() {
        let habit = Habit(name: "x")
        let (nan, decomposed) = (Double.nan, "e\u{301}")
        let predicates: [Predicate<Habit>] = [
            #Predicate { $0.target == nan }, #Predicate { $0.name < decomposed },
            #Predicate { $0.target.flatMap { $0 * 2 } == 4 }, #Predicate { $0.name.min() == nil },
            #Predicate { $0.entries.first == nil },
        ]
        for (index, predicate) in predicates.enumerated() { #expect(lowered(predicate) == nil, "case \(index)") }
        let same = #Predicate<Entry> { $0.habit == habit }
        #expect(lowered(same) == nil)
    }

    /// Foundation's evaluation ends the process where a whole number overflows. What has to be evaluated by it, because
    /// something else in the predicate has no filter form, is refused instead.
    @Test func arithmeticThatFoundationWouldTrapOnNeverReachesIt() throws {
        let (most, zero) = (Int.max, 0)
        let store = try InMemoryHabitStore()
        try store.save(Habit(name: "x", streak: most))
        let refused: [Predicate<Habit>] = [
            #Predicate { $0.name.min() == nil || $0.streak + most > 0 },
            #Predicate { $0.name.min() == nil || $0.streak / zero > 0 },
            #Predicate { $0.name.min() == nil || -$0.streak > 0 },
            #Predicate { $0.name.min() == nil || ($0.streak...$0.periodDays).contains(2) },
        ]
        for (index, predicate) in refused.enumerated() {
            let error = #expect(throws: HabitStoreError.self, "case \(index)") {
                try store.fetch(FetchDescriptor(predicate: predicate))
            }
            #expect(error?.code == .unsupported)
        }
        let harmless = #Predicate<Habit> { $0.name.min() == nil || ($0.target ?? 0) * 2 > 3 }
        #expect(try store.fetch(FetchDescriptor(predicate: harmless)).isEmpty)
    }

    private func lowered<M: PersistentModel>(_ predicate: Predicate<M>) -> String? {
        PredicateLowering.lower(predicate, schema: HabitSchema.current)?.description
    }
}
