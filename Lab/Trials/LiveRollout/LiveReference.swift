import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker

/// Replays a history, write by write, in a store in memory, and compares with it what streams received.
struct LiveReference {
    /// The result of a comparison.
    struct Outcome {
        var violations: [String] = []
        /// How many answers were compared.
        var compared = 0
    }

    /// The numbers of the writes, in the order of the history.
    let numbers: [Int]

    /// Writes that were not from one of the writers, or that occurred twice.
    private(set) var violations: [String] = []

    init(_ history: [HistoryTransaction]) {
        numbers = history.map { TangleWorkload.number($0.author) ?? 0 }
        if history.map(\.token.rawValue) != history.indices.map({ Int64($0 + 1) }) {
            violations.append("the history has gaps: \(history.map(\.token))")
        }
        if numbers.contains(0) { violations.append("the history has writes by other authors") }
        if Set(numbers).count != numbers.count { violations.append("the history has a write twice") }
    }

    /// Compares the received answers with the replayed history.
    ///
    /// - Parameter final: all records of the store that serves at the end.
    func compare(_ followers: [any LiveFollower], final: Contents) throws -> Outcome {
        var outcome = Outcome(violations: violations)
        var waiting: [HistoryToken: [any LiveFollower]] = [:]
        for follower in followers {
            for token in follower.tokensToCompare { waiting[token, default: []].append(follower) }
        }
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        try compare(&waiting, at: store, &outcome)
        for number in numbers {
            try store.write(author: TangleWorkload.author(number)) { try TangleWorkload.write(number, in: $0) }
            try compare(&waiting, at: store, &outcome)
        }
        for (token, followers) in waiting {
            outcome.violations.append(
                "\(followers[0].name): token \(token) was received, but the history ends before it"
            )
        }
        if try store.read({ try Contents($0) }) != final {
            outcome.violations.append("the records do not match the \(numbers.count) writes")
        }
        return outcome
    }

    private func compare(
        _ waiting: inout [HistoryToken: [any LiveFollower]],
        at store: InMemoryHabitStore,
        _ outcome: inout Outcome
    ) throws {
        try store.read { transaction in
            let token = try transaction.information().token
            for follower in waiting.removeValue(forKey: token) ?? [] {
                outcome.compared += 1
                guard let wrong = try follower.compare(transaction, at: token) else { continue }
                outcome.violations.append("\(follower.name): \(wrong)")
            }
        }
    }
}
