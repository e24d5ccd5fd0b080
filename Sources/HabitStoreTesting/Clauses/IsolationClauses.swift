import Foundation
@_spi(Engines) import HabitStore
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
        let ended = try store.read { try EscapedTransaction($0) }
        let written = try store.write { transaction in
            try transaction.insert(Tag(name: "x"))
            return try EscapedTransaction(transaction)
        }
        try ended.requireRefusal()
        try written.requireRefusal()
        try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 1, "the number of tags")
    }
}

extension StoreContract {
    static let sharedCommitClauses: [Clause] = [
        Clause("concurrent writes are atomic, and numbered in order", arriveTogether),
        Clause("a concurrent write reads, refuses a nested write, and throws its own error", keepsItsPlace),
        Clause("concurrent async writes do not time out waiting for each other", async: asyncWritesWait),
    ]

    /// How many threads write at the same time.
    private static let threads = 12

    /// The part of a thread: a third of them commit, a third give up in the middle, and a third are refused.
    private enum Part: Int {
        case stores, givesUp, isRefused

        init(_ number: Int) { self = Part(rawValue: number % 3) ?? .stores }
    }

    private static func arriveTogether(_ bench: ContractBench) throws {
        let store = try bench.habits()
        try store.save(Tag(name: "taken"))
        try together(store) { number in
            do {
                try store.write(author: "\(number)") { transaction in
                    let habit = Habit(name: "\(number)")
                    try transaction.insert(habit)
                    try transaction.insert(Entry(note: "\(number)", habitID: habit.id))
                    switch Part(number) {
                    case .stores: try transaction.insert(Tag(name: "\(number)"))
                    case .givesUp: throw Abandoned()
                    case .isRefused: try transaction.insert(Tag(name: "taken"))
                    }
                }
                try expectEqual(Part(number), .stores, "the part of a write that committed")
            } catch is Abandoned {
                try expectEqual(Part(number), .givesUp, "the part of a write that gave up")
            } catch let error as HabitStoreError where error.code == .uniqueViolation {
                try expectEqual(Part(number), .isRefused, "the part of a write that was refused")
            }
        }
        let expected = (0..<threads).filter { Part($0) == .stores }.map(String.init)
        try expectEqual(Set(try store.all(Habit.self).map(\.name)), Set(expected), "the habits")
        try expectEqual(Set(try store.all(Entry.self).compactMap(\.note)), Set(expected), "the entries")
        try expectEqual(Set(try store.all(Tag.self).map(\.name)), Set(expected + ["taken", "first"]), "the tags")
        let history = try store.fetchHistory(after: .zero)
        try expectEqual(history.map(\.token.rawValue), Array(1...Int64(expected.count + 2)), "the tokens")
        for transaction in history.dropFirst(2) {
            try expectEqual(transaction.changes.map(\.entity), ["Habit", "Entry", "Tag"], "the changes")
            let habit = try require(try store.model(Habit.self, id: transaction.changes[0].id), "the habit")
            try expectEqual(habit.name, transaction.author, "the author of a history transaction")
        }
        let times = history.map(\.timestamp)
        try expectEqual(times, times.sorted(), "the timestamps of the history")
        try expectEqual(try store.check { _ in }, [], "the findings of a check")
        try expectEqual(try store.checkDigests(), [], "the findings about digests")
    }

    private static func keepsItsPlace(_ bench: ContractBench) throws {
        let store = try bench.habits()
        try together(store) { number in
            try store.write { transaction in
                try transaction.insert(Tag(name: "\(number)"))
                // No read outside the transaction sees what is not committed, not even one by the thread that writes it.
                let seen = try store.all(Tag.self).map(\.name)
                try expect(!seen.contains("\(number)"), "a read outside the transaction does not see its writes")
                try expectError(.unsupported) { try store.save(Tag(name: "inner")) }
                try expectError(.unsupported) { try store.replicate { _ in } }
                try expectEqual(try transaction.information().token, try transaction.currentToken(), "the token inside")
            }
        }
        let expected = ["first"] + (0..<threads).map(String.init)
        try expectEqual(try store.all(Tag.self).map(\.name).sorted(), expected.sorted(), "the tags")
        try expectEqual(try store.currentToken().rawValue, Int64(threads) + 1, "the token")
    }

    private static func asyncWritesWait(_ bench: ContractBench) async throws {
        let store = try bench.habits()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    do {
                        try await store.write(author: nil) { transaction in
                            if number == 0 { Thread.sleep(forTimeInterval: 0.1) }
                            try transaction.insert(Tag(name: "\(number)"))
                            if number % 4 == 1 { throw Abandoned() }
                        }
                        try expect(number % 4 != 1, "a write that gave up throws")
                    } catch is Abandoned {}
                }
            }
            try await group.waitForAll()
        }
        let tags = try await store.fetchCount(FetchDescriptor<Tag>())
        try expectEqual(tags, 30, "the number of tags")
        let token = try await store.read { try $0.currentToken() }
        try expectEqual(token.rawValue, 30, "the token")
    }

    /// Runs `body` on many threads, all of which arrive while another write is in progress.
    private static func together(_ store: any HabitStore, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        let failure = Mutex<(any Error)?>(nil)
        let group = DispatchGroup()
        let begun = DispatchSemaphore(value: 0)
        try store.write { transaction in
            try transaction.insert(Tag(name: "first"))
            for number in 0..<threads {
                group.enter()
                Thread.detachNewThread {
                    begun.signal()
                    do {
                        try body(number)
                    } catch {
                        failure.withLock { $0 = error }
                    }
                    group.leave()
                }
            }
            for _ in 0..<threads { begun.wait() }
            Thread.sleep(forTimeInterval: 0.02)
        }
        group.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }
}

extension StoreContract {
    static let durabilityClauses: [Clause] = [
        Clause("writes are still there when the store is reopened") { bench in
            guard bench.subject.isDurable else { return }
            let identity = UUID()
            let specimens = [fullSpecimen()] + oddTexts.map { Specimen($0) }
            let first = try bench.open(ContractSchema.schema, identity: identity)
            try first.write(author: "first") { transaction in try specimens.forEach(transaction.insert) }
            let information = try first.information()
            let history = try first.fetchHistory(after: .zero)
            first.close()
            let second = try bench.open(ContractSchema.schema, identity: UUID())
            let expected = specimens.sorted { $0.id.isBefore($1.id) }
            try expectEqual(try second.all(Specimen.self).map(\.id), expected.map(\.id), "the identifiers")
            for (found, specimen) in zip(try second.all(Specimen.self), expected) {
                try expectEqual(found, specimen, "a record")
            }
            try expectEqual(try second.information(), information, "the information")
            try expectEqual(information.storeID, identity, "the identity")
            try expectEqual(try second.fetchHistory(after: .zero), history, "the history")
            try second.save(Specimen("more"))
            try expectEqual(try second.currentToken().rawValue, 2, "the token")
            try expectEqual(try second.check { _ in }, [], "the findings of a check")
        },
        Clause("a backup is a store with the same contents") { bench in
            let store = try bench.habits()
            try store.insert((0..<30).map { Tag(name: "\($0)") })
            guard let path = store.path, bench.subject.isDurable else {
                try expectError(.unsupported) { try store.backup(to: NSTemporaryDirectory() + UUID().uuidString) }
                return
            }
            let target = URL(fileURLWithPath: path).deletingLastPathComponent()
                .appendingPathComponent("backup-\(UUID().uuidString)").path
            try store.backup(to: target)
            try expect(FileManager.default.fileExists(atPath: target), "a file exists at the backup's path")
            do {
                try store.backup(to: target)
                throw ContractViolation("a backup replaced an existing file")
            } catch is HabitStoreError {}
            try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 30, "the number of tags")
        },
        Clause("a closed store refuses every operation; closing it twice is allowed") { bench in
            let store = try bench.habits()
            try store.save(Tag(name: "x"))
            store.close()
            store.close()
            try expectError(.closed) { try store.all(Tag.self) }
            try expectError(.closed) { try store.save(Tag(name: "y")) }
            try expectError(.closed) { try store.currentToken() }
            try expectError(.closed) { try store.check { _ in } }
            try expectError(.closed) { try store.replicaRead { try $0.information() } }
            try expectError(.closed) { try store.replicate { try $0.setBackfillState(nil) } }
        },
        Clause("a schema that contradicts itself is refused") { bench in
            try expectError(.schemaMismatch) { try bench.open(Schema([Draft.self, OtherDraft.self])) }
            try expectError(.schemaMismatch, entity: "Leaf") { try bench.open(Schema([Leaf.self])) }
        },
        Clause("a store of another schema version is refused") { bench in
            guard bench.subject.isDurable else { return }
            try bench.habits().close()
            let models: [any PersistentModel.Type] = [Habit.self, Entry.self, Tag.self, Draft.self]
            try expectError(.newerVersion) { try bench.open(Schema(models, version: .init(2, 9, 9))) }
            try expectError(.migrationRequired) { try bench.open(Schema(models, version: .init(3, 0, 1))) }
            try bench.habits().close()
        },
        Clause("a store whose entity has a different layout is refused by name") { bench in
            guard bench.subject.isDurable else { return }
            let store = try bench.habits()
            try store.save(Draft(content: "x"))
            store.close()
            let version = HabitSchema.current.version
            try expectError(.schemaMismatch, entity: "Draft") {
                try bench.open(Schema([OtherDraft.self], version: version))
            }
            let larger = Schema(
                [Habit.self, Entry.self, Tag.self, Draft.self, Hub.self, Item.self, Badge.self],
                version: version
            )
            try expectError(.schemaMismatch, entity: "Hub") { try bench.open(larger) }
            let again = try bench.habits()
            try expectEqual(try again.fetchCount(FetchDescriptor<Draft>()), 1, "the number of drafts")
        },
    ]
}
