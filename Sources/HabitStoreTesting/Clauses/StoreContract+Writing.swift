import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension StoreContract {
    static let writingClauses: [Clause] = [
        Clause("insert refuses an identifier that is taken, and save replaces its record") { bench in
            let store = try bench.habits()
            var habit = Habit(name: "Run", streak: 1)
            try store.insert([habit])
            habit.streak = 2
            try expectError(.uniqueViolation, entity: "Habit", attribute: "id", id: habit.id) {
                try store.insert([habit])
            }
            try expectEqual(try store.model(Habit.self, id: habit.id)?.streak, 1, "the streak after a refused insert")
            try store.save(habit)
            try expectEqual(try store.all(Habit.self), [habit], "the records")
        },
        Clause("a transaction that throws has no effect") { bench in
            let store = try bench.habits()
            let kept = Habit(name: "kept")
            try store.save(kept)
            let before = try store.currentToken()
            do {
                try store.write { transaction in
                    try transaction.insert(Habit(name: "new"))
                    var changed = kept
                    changed.name = "changed"
                    try transaction.save(changed)
                    try transaction.delete(changed)
                    try transaction.insert(Tag(name: "tag"))
                    throw Abandoned()
                }
                throw ContractViolation("the transaction's own error was not rethrown")
            } catch is Abandoned {}
            try expectEqual(try store.all(Habit.self), [kept], "the habits")
            try expectEqual(try store.all(Tag.self), [], "the tags")
            try expectEqual(try store.currentToken(), before, "the token")
            try expectEqual(try store.fetchHistory(after: before), [], "the history")
        },
        Clause("a batch is stored completely or not at all") { bench in
            let store = try bench.habits()
            try store.save(Tag(name: "taken"))
            let tags = ["a", "b", "taken", "c"].map { Tag(name: $0) }
            try expectError(.uniqueViolation, entity: "Tag", attribute: "name") { try store.insert(tags) }
            try expectEqual(try store.all(Tag.self).map(\.name), ["taken"], "the tags")
        },
        Clause("catching a refusal inside a transaction keeps the rest of it") { bench in
            let store = try bench.habits()
            let first = Tag(name: "taken")
            try store.save(first)
            try store.write { transaction in
                try transaction.insert(Tag(name: "before"))
                try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: first.id) {
                    try transaction.insert(Tag(name: "taken"))
                }
                try transaction.insert(Tag(name: "behind"))
            }
            try expectEqual(
                try store.all(Tag.self).map(\.name).sorted(),
                ["before", "behind", "taken"],
                "the tags"
            )
        },
        Clause("deleting reports whether the record existed") { bench in
            let store = try bench.habits()
            let draft = Draft(content: "x")
            try expect(try !store.delete(draft), "a record that was never stored is not deleted")
            try store.save(draft)
            try expect(try store.delete(draft), "an existing record is deleted")
            try expect(try !store.delete(draft), "it is not deleted twice")
            try expectEqual(try store.model(Draft.self, id: draft.id), nil, "the record")
        },
        Clause("a predicate deletes exactly the records that it would fetch") { bench in
            let store = try bench.habits()
            let habits = (0..<20).map { Habit(name: "habit \($0)", streak: $0, category: $0 < 5 ? nil : "x") }
            try store.insert(habits)
            try store.save(Entry(habitID: habits[3].id))
            let count = try store.delete(Habit.self, where: #Predicate { $0.entries.isEmpty && $0.category == nil })
            try expectEqual(count, 4, "the number of deleted records")
            let left = try store.fetch(FetchDescriptor(sortBy: [SortDescriptor(\Habit.streak)])).map(\.streak)
            try expectEqual(left, [3] + Array(5..<20), "the streaks that are left")
            let window = try store.write { transaction in
                try transaction.delete(
                    FetchDescriptor(sortBy: [SortDescriptor(\Habit.streak)], fetchLimit: 2, fetchOffset: 1)
                )
            }
            try expectEqual(window, 2, "the number of records deleted by a window")
            try expectEqual(try store.fetchCount(FetchDescriptor<Habit>()), 14, "the number of records")
        },
        Clause("a model of another schema is refused by name") { bench in
            let store = try bench.habits()
            try expectError(.unknownEntity) { try store.save(Leaf()) }
            try expectError(.unknownEntity) { try store.all(Leaf.self) }
            try expectError(.unknownEntity) { try store.fetchCount(FetchDescriptor<Leaf>()) }
        },
        Clause("one transaction can write many records") { bench in
            let store = try bench.habits()
            let drafts = (0..<1_000).map { Draft(content: "draft \($0)", attachments: ["\($0)"]) }
            try store.insert(drafts)
            try expectEqual(
                try store.all(Draft.self),
                drafts.sorted { $0.id.isBefore($1.id) },
                "the records, by identifier"
            )
        },
    ]

    static let uniquenessClauses: [Clause] = [
        Clause("a taken unique value is refused with the entity, attribute and record that has it") { bench in
            let store = try bench.habits()
            let first = Tag(name: "caf\u{e9}")
            try store.save(first)
            try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: first.id) {
                try store.save(Tag(name: "caf\u{e9}"))
            }
            // The same text to a person and to Swift, in different scalars.
            try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: first.id) {
                try store.insert([Tag(name: "cafe\u{301}")])
            }
            try store.save(Tag(name: "Caf\u{e9}"))
            try store.save(Tag(name: "cafe"))
            try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 3, "the number of tags")
            try expectEqual(try store.model(Tag.self, id: first.id), first, "the first record")
        },
        Clause("changing a record into a taken unique value is refused") { bench in
            let store = try bench.habits()
            let first = Tag(name: "a")
            var second = Tag(name: "b")
            try store.insert([first, second])
            second.name = "a"
            try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: first.id) { try store.save(second) }
            second.name = "b"
            try expectEqual(try store.model(Tag.self, id: second.id), second, "the record")
            try store.save(second)
            second.name = "c"
            try store.save(second)
            try store.save(Tag(name: "b"))
            try expectEqual(try store.all(Tag.self).map(\.name).sorted(), ["a", "b", "c"], "the names")
        },
        Clause("a unique value is free again when its record is deleted or changed, even in one transaction") {
            bench in
            let store = try bench.habits()
            var first = Tag(name: "a")
            try store.save(first)
            try store.write { transaction in
                first.name = "b"
                try transaction.save(first)
                try transaction.insert(Tag(name: "a"))
                try transaction.delete(first)
                try transaction.insert(Tag(name: "b"))
            }
            try expectEqual(try store.all(Tag.self).map(\.name).sorted(), ["a", "b"], "the names")
        },
        Clause("uniqueness does not count nil") { bench in
            let store = try bench.contract()
            var specimens = (0..<3).map { Specimen("\($0)") }
            try store.insert(specimens)
            specimens[0].code = ""
            try store.save(specimens[0])
            specimens[1].code = ""
            try expectError(.uniqueViolation, entity: "Specimen", attribute: "code", id: specimens[0].id) {
                try store.save(specimens[1])
            }
            specimens[2].serial = specimens[0].serial
            try expectError(.uniqueViolation, entity: "Specimen", attribute: "serial", id: specimens[0].id) {
                try store.save(specimens[2])
            }
        },
        Clause("long unique values that differ only at the end are different") { bench in
            let store = try bench.habits()
            let long = String(repeating: "x", count: 3_000)
            let tags = ["", "a", "b", "a\0"].map { Tag(name: long + $0) }
            try store.insert(tags)
            try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: tags[2].id) {
                try store.save(Tag(name: long + "b"))
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 4, "the number of tags")
        },
    ]
}
