import Foundation
import HabitStore
import HabitTracker
import Synchronization

extension StoreContract {
    static let isolationClauses: [Clause] = [
        Clause("a read sees one snapshot, whatever is written during it") { bench in
            let store = try bench.habits()
            try store.save(Tag(name: "before"))
            try store.read { moment in
                let token = try moment.currentToken()
                try store.save(Tag(name: "during"))
                try expectEqual(try moment.all(Tag.self).map(\.name), ["before"], "the tags in the snapshot")
                try expectEqual(try moment.fetchCount(FetchDescriptor<Tag>()), 1, "the count in the snapshot")
                try expectEqual(try moment.currentToken(), token, "the token of the snapshot")
                try expectEqual(try moment.fetchHistory(after: token), [], "the history in the snapshot")
                try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 2, "the count of now")
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 2, "the count")
        },
        Clause("a read sees one snapshot, whatever other threads write") { bench in
            let store = try bench.habits()
            try store.insert((0..<50).map { Tag(name: "\($0)") })
            try store.read { moment in
                let before = try moment.all(Tag.self)
                try onAnotherThread {
                    try store.delete(Tag.self, where: #Predicate { $0.name != "7" })
                    try store.save(Tag(name: "new"))
                }
                try expectEqual(try moment.all(Tag.self), before, "the tags in the snapshot")
            }
            try expectEqual(try store.all(Tag.self).map(\.name).sorted(), ["7", "new"], "the tags of now")
        },
        Clause("uncommitted writes are not visible outside their transaction") { bench in
            let store = try bench.habits()
            try store.write { transaction in
                try transaction.insert(Tag(name: "pending"))
                try onAnotherThread {
                    try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 0, "the count from outside")
                }
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 1, "the count")
        },
        Clause("a transaction reads its own writes", readsItsOwnWrites),
        Clause("a nested write is an error, not a deadlock") { bench in
            let store = try bench.habits()
            try store.write { transaction in
                try transaction.insert(Tag(name: "outer"))
                try expectError(.unsupported) { try store.save(Tag(name: "inner")) }
            }
            try expectEqual(try store.all(Tag.self).map(\.name), ["outer"], "the tags")
            try store.save(Tag(name: "later"))
        },
        Clause("two threads write one after the other") { bench in
            let store = try bench.habits()
            let habit = Habit(name: "counter")
            try store.save(habit)
            let failure = Mutex<(any Error)?>(nil)
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                do {
                    for _ in 0..<25 {
                        try store.write { transaction in
                            var habit = try require(try transaction.model(Habit.self, id: habit.id), "the habit")
                            habit.streak += 1
                            try transaction.save(habit)
                        }
                    }
                } catch {
                    failure.withLock { $0 = error }
                }
            }
            if let error = failure.withLock({ $0 }) { throw error }
            try expectEqual(try store.model(Habit.self, id: habit.id)?.streak, 100, "the counter")
            try expectEqual(try store.currentToken(), HistoryToken(rawValue: 101), "the token")
        },
        Clause("a transaction cannot be used after its end", endsTransactions),
    ]

    private static func readsItsOwnWrites(_ bench: ContractBench) throws {
        let store = try bench.habits()
        let old = Habit(name: "old", streak: 1)
        try store.save(old)
        try store.write { transaction in
            let new = Habit(name: "new", streak: 2)
            try transaction.insert(new)
            try transaction.insert(Entry(note: "n", habitID: new.id))
            var changed = old
            changed.name = "changed"
            try transaction.save(changed)
            try expectEqual(try transaction.model(Habit.self, id: new.id), new, "the new record")
            let byStreak = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.streak, order: .reverse)])
            try expectEqual(try transaction.fetch(byStreak), [new, changed], "the records")
            let named = FetchDescriptor(predicate: #Predicate<Habit> { $0.name == "changed" })
            try expectEqual(try transaction.fetchIdentifiers(named), [old.id], "the record of the new name")
            let former = FetchDescriptor(predicate: #Predicate<Habit> { $0.name == "old" })
            try expectEqual(try transaction.fetchCount(former), 0, "the number of records of the old name")
            let related = FetchDescriptor(predicate: #Predicate<Entry> { $0.habit?.name == "new" })
            try expectEqual(try transaction.fetchCount(related), 1, "the number of entries of the new habit")
            try transaction.delete(new)
            try expectEqual(try transaction.fetchCount(FetchDescriptor<Entry>()), 0, "the number of entries")
            try expectEqual(try transaction.all(Habit.self), [changed], "the records after deleting")
        }
    }

    private static func endsTransactions(_ bench: ContractBench) throws {
        let store = try bench.habits()
        var reading: (any ReadTransaction)?
        var writing: (any WriteTransaction)?
        try store.read { reading = $0 }
        try store.write { transaction in
            try transaction.insert(Tag(name: "x"))
            writing = transaction
        }
        let ended = try require(reading, "the read transaction")
        let written = try require(writing, "the write transaction")
        let query = RecordQuery(entity: "Tag")
        try expectError(.transactionEnded) { try ended.all(Tag.self) }
        try expectError(.transactionEnded) { try ended.model(Tag.self, id: UUID()) }
        try expectError(.transactionEnded) { try ended.fetchCount(FetchDescriptor<Tag>()) }
        try expectError(.transactionEnded) { try ended.fetchIdentifiers(FetchDescriptor<Tag>()) }
        try expectError(.transactionEnded) { try ended.project(FetchDescriptor<Tag>(), [\.name]) }
        try expectError(.transactionEnded) { try ended.explain(FetchDescriptor<Tag>()) }
        try expectError(.transactionEnded) { try ended.records(query) }
        try expectError(.transactionEnded) { try ended.countRecords(query) }
        try expectError(.transactionEnded) { try ended.currentToken() }
        try expectError(.transactionEnded) { try ended.information() }
        try expectError(.transactionEnded) { try ended.fetchHistory(after: .zero) }
        try expectError(.transactionEnded) { try written.insert(Tag(name: "y")) }
        try expectError(.transactionEnded) { try written.save(Tag(name: "y")) }
        try expectError(.transactionEnded) { try written.delete(Tag.self, id: UUID()) }
        try expectError(.transactionEnded) { try written.pruneHistory(through: .zero) }
        try expectError(.transactionEnded) { try written.all(Tag.self) }
        try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 1, "the number of tags")
    }
}
