import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import Synchronization

/// Threads that write without a pause.
final class SoakWriters: Sendable {
    /// How many transactions of history are kept.
    private static let keptHistory: Int64 = 2_000
    private static let writesBetweenPrunings = 500

    private let store: UserStore
    private let count: Int
    private let seed: UInt64
    private let isOver = Atomic<Bool>(false)
    private let running = DispatchGroup()
    private let failure = Mutex<(any Error)?>(nil)
    private let writes = Atomic<Int>(0)

    init(_ store: UserStore, count: Int, seed: UInt64) {
        self.store = store
        self.count = count
        self.seed = seed
    }

    /// Fills an empty store.
    static func fill(_ store: UserStore, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        try store.write(author: "soak") { transaction in
            for number in 0..<SoakRecords.tags { try transaction.insert(SoakRecords.tag(number, &random)) }
            for number in 0..<SoakRecords.habits { try transaction.insert(SoakRecords.habit(number, &random)) }
            for number in 0..<SoakRecords.entries { try transaction.insert(SoakRecords.entry(number, &random)) }
            for number in 0..<SoakRecords.drafts { try transaction.insert(SoakRecords.draft(number, &random)) }
        }
    }

    func start() {
        for number in 0..<count {
            running.enter()
            Thread.detachNewThread { [self] in
                defer { running.leave() }
                var random = SeededGenerator(seed: seed &+ UInt64(number) &* 7_919)
                do {
                    while !isOver.load(ordering: .relaxed) { try write(&random) }
                } catch {
                    failure.withLock { $0 = error }
                }
            }
        }
    }

    /// - Returns: how many transactions were written.
    /// - Throws: the error of a failed write; none is expected, since the stores are sound.
    @discardableResult
    func stop() throws -> Int {
        isOver.store(true, ordering: .relaxed)
        running.wait()
        if let failure = failure.withLock({ $0 }) { throw failure }
        return writes.load(ordering: .relaxed)
    }

    /// Runs in a separate process.
    func runUntilInputEnds() throws {
        start()
        while readLine() != nil {}
        let count = try stop()
        store.close()
        print(count)
    }

    private func write(_ random: inout SeededGenerator) throws {
        try store.write(author: "soak") { transaction in
            for _ in 0..<Int.random(in: 1...4, using: &random) { try change(transaction, &random) }
        }
        guard writes.add(1, ordering: .relaxed).newValue % Self.writesBetweenPrunings == 0 else { return }
        let token = try store.currentToken().rawValue
        if token > Self.keptHistory {
            try store.pruneHistory(through: HistoryToken(rawValue: token - Self.keptHistory))
        }
    }

    private func change(_ transaction: any WriteTransaction, _ random: inout SeededGenerator) throws {
        let deletes = Int.random(in: 0..<4, using: &random) == 0
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5:
            let entry = SoakRecords.entry(.random(in: 0..<SoakRecords.entries, using: &random), &random)
            if deletes { try transaction.delete(entry) } else { try transaction.save(entry) }
        case 5..<8:
            var habit = SoakRecords.habit(.random(in: 0..<SoakRecords.habits, using: &random), &random)
            for number in 0..<SoakRecords.tags where Int.random(in: 0..<5, using: &random) == 0 {
                if let tag = try transaction.model(Tag.self, id: SoakRecords.id(3, number)) {
                    habit.tagIDs.insert(tag.id)
                }
            }
            try transaction.save(habit)
        case 8:
            let tag = SoakRecords.tag(.random(in: 0..<SoakRecords.tags, using: &random), &random)
            if deletes { try transaction.delete(tag) } else { try transaction.save(tag) }
        default:
            let draft = SoakRecords.draft(.random(in: 0..<SoakRecords.drafts, using: &random), &random)
            if deletes { try transaction.delete(draft) } else { try transaction.save(draft) }
        }
    }
}
