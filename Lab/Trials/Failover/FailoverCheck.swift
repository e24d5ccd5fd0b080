import Foundation
import HabitStore
import HabitStorePostgres
import HabitTracker

/// Compares a store with the outcomes that its writers saw.
struct FailoverCheck {
    private(set) var violations: [String] = []
    private(set) var acknowledged = 0
    private(set) var failed = 0
    /// Unknown outcomes that turned out to be kept, or not.
    private(set) var (unknownKept, unknownUndone) = (0, 0)

    /// - Parameter silence: the time in which no server could have had a standby, so that no write may be acknowledged.
    /// - Returns: the authors in the history, which must never change again.
    mutating func check(
        _ place: PostgresPlace,
        _ ledger: FailoverLedger,
        silence: ClosedRange<ContinuousClock.Instant>
    ) throws -> [String] {
        let store = try PostgresHabitStore(place, schema: HabitSchema.current)
        defer { store.close() }
        let history = try store.fetchHistory(after: .zero)
        let authors = history.compactMap(\.author)
        let times = Dictionary(authors.map { ($0, 1) }, uniquingKeysWith: +)
        if history.map(\.token.rawValue) != Array(1..<Int64(history.count + 1)) {
            violations.append("\(place.name): the history's tokens have gaps or duplicates")
        }
        var expected: [UUID: String] = [:]
        for write in ledger.writes.sorted(by: { $0.number < $1.number }) {
            judge(write, times[write.author, default: 0], "\(place.name), write \(write.author)", silence)
            guard times[write.author] != nil else { continue }
            expected[FailoverWriters.counter(write.thread)] = "counter \(write.author)"
            if write.number.isMultiple(of: 2) {
                expected[FailoverWriters.id(write.thread, write.number)] = "tag \(write.author)"
            }
        }
        let tags = try store.fetch(FetchDescriptor<Tag>())
        if Dictionary(tags.map { ($0.id, $0.name) }, uniquingKeysWith: { first, _ in first }) != expected
            || tags.count != expected.count
        {
            violations.append("\(place.name): the records do not match the history")
        }
        violations += try store.check { _ in }.map { "\(place.name): \($0)" }
        return authors
    }

    private mutating func judge(
        _ write: FailoverLedger.Write,
        _ times: Int,
        _ name: String,
        _ silence: ClosedRange<ContinuousClock.Instant>
    ) {
        if times > 1 { violations.append("\(name): exists \(times) times") }
        if write.runs > 1 { violations.append("\(name): its closure ran \(write.runs) times") }
        switch write.outcome {
        case .acknowledged:
            acknowledged += 1
            if times == 0 { violations.append("\(name): acknowledged but lost") }
            if silence.contains(write.began), silence.contains(write.ended) {
                violations.append("\(name): acknowledged while no server had a standby")
            }
        case .failed:
            failed += 1
            if times > 0 { violations.append("\(name): exists, although it was reported as failed") }
        case .unknown:
            if times > 0 { unknownKept += 1 } else { unknownUndone += 1 }
        }
    }
}
