import Foundation
import HabitTracker
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

    @Test func whatHasNoFilterFormIsEvaluated() {
        let habit = Habit(name: "x")
        let (nan, minusZero, decomposed) = (Double.nan, -0.0, "e\u{301}")
        let predicates: [Predicate<Habit>] = [
            #Predicate { $0.target == nan }, #Predicate { $0.name < decomposed },
            #Predicate { $0.name.localizedStandardContains(decomposed) },
            #Predicate { ($0.target ?? 1) / minusZero < 0 }, #Predicate { $0.name.min() == nil },
            #Predicate { $0.entries.first == nil }, #Predicate { $0.name.contains(/[a-c]/) },
            #Predicate { ($0.name as Any) is String },
        ]
        for (index, predicate) in predicates.enumerated() { #expect(lowered(predicate) == nil, "case \(index)") }
        let same = #Predicate<Entry> { $0.habit == habit }
        #expect(lowered(same) == nil)
    }

    /// Foundation evaluates from left to right. A lowered term narrows the search only if no earlier term could have failed for a record that the
    /// term excludes.
    @Test func aConjunctionIsLoweredAsFarAsThatKeepsEveryFailure() {
        let cases: [(Predicate<Habit>, String)] = [
            (#Predicate { $0.streak > 3 && $0.name.min() == nil }, "streak > 3"),
            (#Predicate { $0.name.min() == nil && $0.streak > 3 }, "streak > 3"),
            (#Predicate { $0.streak > 3 && $0.name.min() == nil && !$0.isArchived }, "streak > 3 AND NOT isArchived"),
            // swift-format-ignore: NeverForceUnwrap
            (#Predicate { $0.isArchived && $0.category!.isEmpty && $0.streak > 3 }, "isArchived"),
            (#Predicate { $0.name.min() == nil && $0.streak * 2 > 3 }, "true"),
            (#Predicate { $0.streak * 2 > 3 && $0.name.min() == nil }, "(streak * 2) > 3"),
            (#Predicate { $0.streak > 3 || $0.name.min() == nil }, "true"),
        ]
        for (predicate, text) in cases {
            let lowered = PredicateLowering.lower(predicate, schema: HabitSchema.current)
            #expect(!lowered.isWhole)
            #expect(lowered.expression.description == text)
        }
    }

    /// Random queries found it: a filter that overflowed on a later member was lowered to a test that stops at the first deciding member, so that
    /// stores answered where Swift fails.
    @Test func aFilterThatMayFailIsNotMergedIntoATestThatStopsEarly() {
        let predicates: [Predicate<Habit>] = [
            #Predicate { $0.entries.filter { ($0.habit?.streak ?? 0) * 3 == 0 }.contains { $0.note == nil } },
            #Predicate { $0.entries.filter { ($0.habit?.streak ?? 0) * 3 == 0 }.allSatisfy { $0.note == nil } },
        ]
        for predicate in predicates { #expect(lowered(predicate) == nil) }
        let counted = #Predicate<Habit> { $0.entries.filter { ($0.habit?.streak ?? 0) * 3 == 0 }.count == 1 }
        #expect(lowered(counted) != nil)
        let harmless = #Predicate<Habit> { $0.entries.filter { $0.note == nil }.contains { $0.value == nil } }
        #expect(lowered(harmless) == "ANY entries { note == nil AND value == nil }")
    }

    @Test func textsAreComparedWithoutLetterCase() {
        let same = ComparisonResult.orderedSame
        let cases: [(Predicate<Habit>, String)] = [
            (#Predicate { $0.name.caseInsensitiveCompare("run") == same }, "CASECOMPARE(name, \"run\") == 0"),
            (#Predicate { $0.name.localizedStandardContains("e") }, "name CONTAINS[cd] \"e\""),
            (
                #Predicate { $0.category?.localizedStandardContains("e") == true },
                "IF(category != nil, category CONTAINS[cd] \"e\", nil) == true"
            ),
        ]
        for (predicate, text) in cases { #expect(lowered(predicate) == text) }
    }

    @Test func numbersListsAndCapturedListsAreLowered() {
        let names = ["a", "b"]
        let none: [String] = []
        let cases: [(Predicate<Habit>, String)] = [
            (#Predicate { ($0.target ?? 0) * 2.5 > 1 }, "(COALESCE(target, 0.0) * 2.5) > 1.0"),
            (#Predicate { ($0.target ?? 0) / 4 == 1 }, "(COALESCE(target, 0.0) / 4.0) == 1.0"),
            (#Predicate { -($0.target ?? 0) < 1 }, "(-1.0 * COALESCE(target, 0.0)) < 1.0"),
            (
                #Predicate { habit in names.contains { habit.name.contains($0) } },
                "name CONTAINS \"a\" OR name CONTAINS \"b\""
            ),
            (#Predicate { habit in names.allSatisfy { habit.name != $0 } }, "name != \"a\" AND name != \"b\""),
            (#Predicate { habit in none.contains { habit.name == $0 } }, "FALSE"),
            (#Predicate { habit in none.allSatisfy { habit.name == $0 } }, "true"),
        ]
        for (predicate, text) in cases { #expect(lowered(predicate) == text) }
        let first = "a"
        #expect(lowered(#Predicate<Draft> { $0.attachments.min() == first }) == "MIN(attachments) == \"a\"")
        #expect(lowered(#Predicate<Draft> { $0.attachments.max() == nil }) == "MAX(attachments) == nil")
    }

    /// A captured empty set was taken for an empty list of texts, and every native store refused the comparison.
    @Test func aCapturedSetIsComparedAsLinks() {
        let (none, ids): (Set<UUID>, Set<UUID>) = ([], [UUID()])
        #expect(lowered(#Predicate<Habit> { $0.tagIDs != none }) == "tagIDs != links([])")
        #expect(lowered(#Predicate<Habit> { $0.tagIDs == ids })?.hasPrefix("tagIDs == links([\"") == true)
        let texts: [String] = []
        #expect(lowered(#Predicate<Draft> { $0.attachments == texts }) == "attachments == []")
    }

    private func lowered<M: PersistentModel>(_ predicate: Predicate<M>) -> String? {
        try? FilterExpression(predicate, schema: HabitSchema.current).description
    }
}
