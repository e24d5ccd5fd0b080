import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Synchronization

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
