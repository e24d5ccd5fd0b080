import Foundation
import HabitTracker
import Testing

@testable import HabitStore

/// Foundation's evaluation crashes on integer overflow. Predicates that must be evaluated, because some part has no filter form, are evaluated
/// without that.
@Suite("Checked evaluation of predicates")
struct CheckedEvaluationTests {
    @Test func whatFoundationWouldTrapOnIsAnErrorWithTheRecord() throws {
        let (most, zero) = (Int.max, 0)
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        let habit = Habit(name: "x", streak: most)
        try store.insert([habit, Habit(name: "", streak: 1)])
        let failing: [Predicate<Habit>] = [
            #Predicate { $0.name.min() == nil || $0.streak + 1 > 0 },
            #Predicate { $0.name.min() == nil || $0.streak * 2 > 0 },
            #Predicate { $0.name.min() == nil || $0.streak / zero > 0 },
            #Predicate { $0.name.min() == nil || $0.streak % zero > 0 },
            #Predicate { $0.name.min() == nil || -(-most - $0.streak) > 0 },
            #Predicate { $0.name.min() == nil || ($0.streak...$0.periodDays).contains(2) },
            #Predicate { $0.name.min() == nil || ($0.streak..<$0.periodDays).contains(2) },
            // swift-format-ignore: NeverForceUnwrap
            #Predicate { $0.name.min() == nil || $0.category! == "x" },
        ]
        for (index, predicate) in failing.enumerated() {
            let error = #expect(throws: HabitStoreError.self, "case \(index)") {
                try store.fetch(FetchDescriptor(predicate: predicate))
            }
            #expect(error?.code == .evaluationFailed)
            #expect(error?.location.id == habit.id)
        }
    }

    @Test func whatDoesNotTrapIsWhatFoundationGives() throws {
        let numbers = ["x": 1, "y": 2]
        let (zero, one) = (0, 1)
        let habits = [
            Habit(name: "x", streak: 3, category: "a"), Habit(name: "yx", streak: -7, target: 2.5),
            Habit(name: "", streak: 0, category: ""),
        ]
        let predicates: [Predicate<Habit>] = [
            #Predicate { $0.streak * 2 - 1 > zero && $0.streak / 2 < 5 || $0.streak % 3 == -one },
            #Predicate { ($0.streak...($0.streak + 1)).contains(one) },
            #Predicate { -$0.streak > zero },
            #Predicate { numbers[$0.name] == 1 },
            #Predicate { numbers[$0.name, default: 5] + 1 == 6 },
            #Predicate { $0.name.min() == $0.name.max() },
            #Predicate { ($0.category as Any) as? String == nil },
            #Predicate { ($0.target as Any) is Double },
            #Predicate { $0.name.contains(/^y/) },
            #Predicate { $0.category.flatMap { $0.count + 1 } == 2 },
            #Predicate { habit in if let target = habit.target { target / 2 > 1 } else { habit.name.isEmpty } },
            #Predicate { !($0.name.starts(with: "y") || $0.name.contains("x")) },
            #Predicate { $0.name.localizedStandardContains("X") },
        ]
        for (index, predicate) in predicates.enumerated() {
            for habit in habits {
                let bindings = PredicateBindings((predicate.variable, habit))
                let checked = try predicate.expression.checkedValue(bindings)
                #expect(checked == (try predicate.evaluate(habit)), "case \(index) of \(habit.name)")
            }
        }
    }

    @Test func itIsKnownWhichPredicatesMayFail() {
        let one = 1
        // swift-format-ignore: NeverForceUnwrap
        let cases: [(Predicate<Habit>, EvaluationHazard)] = [
            (#Predicate { $0.name.min() == nil }, .none),
            (#Predicate { ($0.target ?? 0) * 2 > 1 }, .none),
            (#Predicate { $0.category! == "x" }, .throwing),
            (#Predicate { $0.entries.contains { $0.note! == "x" } }, .throwing),
            (#Predicate { $0.streak + one > 1 && $0.category! == "x" }, .trapping),
            (#Predicate { $0.entries.filter { $0.note != nil }.count + one > 1 }, .trapping),
        ]
        for (predicate, hazard) in cases { #expect(EvaluationHazard.of(predicate.expression) == hazard) }
    }
}
