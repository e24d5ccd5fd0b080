import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension StoreContract {
    static let batchClauses: [Clause] = [
        Clause("a batch has the same result as single insertions", comesToTheSame),
        Clause("a refused batch names the first record that cannot be stored", namesTheFirst),
        Clause("a refused batch fails its transaction, even if the error is caught") { bench in
            let store = try bench.habits()
            let kept = Draft(content: "kept")
            try store.save(kept)
            let before = try store.currentToken()
            try expectError(.uniqueViolation, entity: "Draft", attribute: "id", id: kept.id) {
                try store.write { transaction in
                    try transaction.insert(Draft(content: "before"))
                    try expectError(.uniqueViolation, entity: "Draft", id: kept.id) {
                        try transaction.insert(contentsOf: [Draft(content: "new"), kept])
                    }
                    try expectError(.uniqueViolation, id: kept.id) { try transaction.all(Draft.self) }
                    try expectError(.uniqueViolation, id: kept.id) { try transaction.save(Draft(content: "behind")) }
                }
            }
            try expectEqual(try store.all(Draft.self), [kept], "the records")
            try expectEqual(try store.currentToken(), before, "the token")
        },
        Clause("the records of a batch may refer to one another, in any order") { bench in
            let store = try bench.contract()
            let parents = (0..<50).map { _ in Folder() }
            let children = parents.map { Folder(parentID: $0.id) }
            try store.write { try $0.insert(contentsOf: children + parents) }
            try expectEqual(try store.fetchCount(FetchDescriptor<Folder>()), 100, "the number of records")
            let stray = Folder(parentID: UUID())
            try expectError(.danglingReference, entity: "Folder", attribute: "parent", id: stray.id) {
                try store.write { try $0.insert(contentsOf: [Folder(), stray]) }
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Folder>()), 100, "the number of records")
        },
        Clause("a batch reports its progress, and ends if its observer throws") { bench in
            let store = try bench.habits()
            var told: [Int] = []
            let drafts = (0..<2_100).lazy.map { Draft(content: "\($0)") }
            try store.write { try $0.insert(contentsOf: drafts) { told.append($0) } }
            try expectEqual(told.last, 2_100, "the last reported progress")
            try expect(
                told.count > 2 && zip(told, told.dropFirst()).allSatisfy { $0 <= $1 },
                "progress never falls: \(told)"
            )
            try expectEqual(try store.fetchCount(FetchDescriptor<Draft>()), 2_100, "the number of records")
            do {
                try store.write { try $0.insert(contentsOf: drafts) { _ in throw Abandoned() } }
                throw ContractViolation("an observer's error did not end the batch")
            } catch is Abandoned {}
            try expectEqual(try store.fetchCount(FetchDescriptor<Draft>()), 2_100, "the number of records")
            let token = try store.currentToken()
            try store.write { try $0.insert(contentsOf: [Draft]()) }
            try expectEqual(try store.currentToken(), token, "the token after a batch without records")
        },
        Clause("a batch may reinsert records that its transaction has deleted, which may then change them") { bench in
            let store = try bench.habits()
            var drafts = (0..<60).map { Draft(content: "\($0)") }
            try store.insert(drafts)
            let token = try store.currentToken()
            try store.write { transaction in
                for draft in drafts { try transaction.delete(draft) }
                for place in drafts.indices where place % 2 == 0 { drafts[place].content += " again" }
                try transaction.insert(contentsOf: drafts)
                try transaction.delete(drafts[1])
            }
            let changes = try store.fetchHistory(after: token).flatMap(\.changes)
            try expectEqual(changes.count, 31, "the changes")
            let updates = changes.filter { $0.kind == .update(updatedAttributes: ["content"]) }
            try expectEqual(updates.count, 30, "the updates")
            drafts.remove(at: 1)
            try expectEqual(try store.all(Draft.self), drafts.sorted { $0.id.isBefore($1.id) }, "the records")
        },
    ]

    /// Fills two stores, one record by record and one in batches: small and large batches, into empty and filled entities, with identifiers in
    /// ascending,
    /// descending and random order.
    private static func comesToTheSame(_ bench: ContractBench) throws {
        let one = try bench.open(HabitSchema.current, folder: "single")
        let other = try bench.open(HabitSchema.current, folder: "batch")
        var random = SeededGenerator(seed: 20_261_122)
        let tags = (0..<5).map { Tag(id: random.identifier(), name: "tag \($0)") }
        let habits = (0..<40).map { number in
            Habit(
                id: random.identifier(),
                name: number % 3 == 0 ? "caf\u{e9} \(number)" : "habit \(number)",
                category: number % 4 == 0 ? nil : "c\(number % 4)",
                tagIDs: Set(tags.filter { _ in random.chance(40) }.map(\.id))
            )
        }
        try both(one, other, tags)
        try both(one, other, habits)
        for (round, count) in [1, 2_300, 700, 2_500, 3].enumerated() {
            var entries = (0..<count).map { number in
                Entry(
                    id: random.identifier(),
                    date: Date(timeIntervalSinceReferenceDate: Double(random.int(0...900)) * 86_400),
                    note: random.chance(30) ? "note \(number)" : nil,
                    value: random.chance(80) ? Double(number) / 8 : nil,
                    habitID: random.chance(90) ? random.pick(habits).id : nil
                )
            }
            if round % 3 == 1 { entries.sort { $0.id.isBefore($1.id) } }
            if round % 3 == 2 { entries.sort { $1.id.isBefore($0.id) } }
            try both(one, other, entries)
        }
        try expectEqual(try other.all(Entry.self), try one.all(Entry.self), "the entries")
        try expectEqual(try other.all(Habit.self), try one.all(Habit.self), "the habits")
        for habit in habits {
            let id = habit.id
            let descriptor = FetchDescriptor<Entry>(
                predicate: #Predicate { $0.habitID == id },
                sortBy: [SortDescriptor(\.date)]
            )
            try expectEqual(try other.fetch(descriptor), try one.fetch(descriptor), "the entries of a habit")
        }
        let byDate = FetchDescriptor<Entry>(sortBy: [SortDescriptor(\.date, order: .reverse)], fetchLimit: 500)
        try expectEqual(try other.fetch(byDate), try one.fetch(byDate), "the newest entries")
        for tag in tags {
            let id = tag.id
            let descriptor = FetchDescriptor<Habit>(predicate: #Predicate { $0.tags.contains { $0.id == id } })
            try expectEqual(try other.fetch(descriptor), try one.fetch(descriptor), "the habits of a tag")
        }
        try expectEqual(
            try other.fetchHistory(after: .zero).map(\.changes),
            try one.fetchHistory(after: .zero).map(\.changes),
            "the history"
        )
        try requireKept(other)
        try expectEqual(try other.check { _ in }, [], "the findings")
        // Records that were inserted in bulk can be changed like any others.
        try other.delete(Entry.self, where: #Predicate { ($0.value ?? 0) > 100 })
        try expectEqual(try other.check { _ in }, [], "the findings after a deletion")
    }

    private static func both<M: PersistentModel>(
        _ one: any EngineBackedStore,
        _ other: any EngineBackedStore,
        _ models: [M]
    ) throws {
        try one.write { transaction in
            for model in models { try transaction.insert(model) }
        }
        try other.write { try $0.insert(contentsOf: models) }
    }

    private static func namesTheFirst(_ bench: ContractBench) throws {
        let store = try bench.habits()
        let known = (0..<3).map { Entry(note: "known \($0)", habitID: nil) }
        try store.insert(known)
        let odd = Entry(value: .nan, habitID: nil)
        func refusal(_ entries: [Entry], _ code: HabitStoreError.Code, _ id: UUID) throws {
            try expectError(code, entity: "Entry", id: id) {
                try store.write { try $0.insert(contentsOf: entries) }
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Entry>()), 3, "the number of records")
        }
        let new = (0..<9).map { Entry(note: "new \($0)", habitID: nil) }
        // The known records in each order of their identifiers.
        for (first, second) in [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)] {
            try refusal(new + [known[first]] + [known[second]], .uniqueViolation, known[first].id)
        }
        try refusal(new + [new[4], known[0]], .uniqueViolation, new[4].id)
        try refusal([new[0], known[0]] + new, .uniqueViolation, known[0].id)
        try refusal(new + [odd, known[0], new[1]], .invalidValue, odd.id)
        try refusal(new + [known[0], odd], .uniqueViolation, known[0].id)
        try refusal(new + [new[8], odd], .uniqueViolation, new[8].id)
        // Unique values count too, among the records of the batch as well.
        let twins = [Tag(name: "twin"), Tag(name: "other"), Tag(name: "twin")]
        try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: twins[0].id) {
            try store.write { try $0.insert(contentsOf: twins) }
        }
        try expectEqual(try store.all(Tag.self), [], "the tags")
    }
}
