import Foundation
import HabitStore
import HabitStorePostgres
import HabitTracker
import Synchronization

/// Threads that write to stores until ``stop()``, and record the outcomes that they saw.
final class FailoverWriters: Sendable {
    /// A store, opened as often as several processes would.
    struct Subject: Sendable {
        let place: PostgresPlace
        let openings: [PostgresHabitStore]
        let ledger = FailoverLedger()
    }

    let subjects: [Subject]
    private let count: Int
    private let isOver = Atomic<Bool>(false)
    private let running = DispatchGroup()
    private let strange = Mutex<[String]>([])
    /// How long a thread waits after a failure.
    private static let pauseSeconds = 0.01
    private static let openings = 2

    /// Creates the stores.
    init(_ names: [String], on uri: String, threads: Int, waitSeconds: Double) throws {
        count = threads
        subjects = try names.map { name in
            let place = PostgresPlace(server: uri, name: name)
            // Different options give another connection pool, as another process would have.
            let openings = try (0..<Self.openings).map {
                try PostgresHabitStore(
                    place,
                    schema: HabitSchema.current,
                    options: .init(mostConnections: 8 + $0, waitSeconds: waitSeconds)
                )
            }
            return Subject(place: place, openings: openings)
        }
    }

    func start() {
        for thread in 0..<count {
            running.enter()
            Thread.detachNewThread { [self] in
                defer { running.leave() }
                let subject = subjects[thread % subjects.count]
                let store = subject.openings[thread / subjects.count % Self.openings]
                var number = 0
                while !isOver.load(ordering: .relaxed) {
                    write(thread, number, store, subject.ledger)
                    number += 1
                }
            }
        }
    }

    /// - Returns: errors that a failover must not cause.
    func stop() -> [String] {
        isOver.store(true, ordering: .relaxed)
        running.wait()
        for subject in subjects { for opening in subject.openings { opening.close() } }
        return strange.withLock { $0 }
    }

    /// The record that a thread updates repeatedly.
    static func counter(_ thread: Int) -> UUID { FailoverWriters.id(0xFFFF_0000 + thread, 0) }

    /// The record that a write stores.
    static func id(_ thread: Int, _ number: Int) -> UUID {
        let words = (UInt64(truncatingIfNeeded: number).bigEndian, UInt64(truncatingIfNeeded: thread).bigEndian)
        return withUnsafeBytes(of: words) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    private func write(_ thread: Int, _ number: Int, _ store: PostgresHabitStore, _ ledger: FailoverLedger) {
        let author = "\(thread):\(number)"
        var runs = 0
        var outcome = FailoverLedger.Outcome.acknowledged
        let began = ContinuousClock.now
        do {
            try store.write(author: author) { transaction in
                runs += 1
                try transaction.save(Tag(id: Self.counter(thread), name: "counter \(author)"))
                if number.isMultiple(of: 2) {
                    try transaction.insert(Tag(id: Self.id(thread, number), name: "tag \(author)"))
                }
            }
        } catch let error as HabitStoreError where error.code == .outcomeUnknown {
            outcome = .unknown
        } catch {
            outcome = .failed
            let code = (error as? HabitStoreError)?.code
            if code != .inputOutput, code != .busy { strange.withLock { $0.append("\(author): \(error)") } }
        }
        ledger.note(
            FailoverLedger.Write(
                author: author,
                thread: thread,
                number: number,
                outcome: outcome,
                runs: runs,
                began: began,
                ended: .now
            )
        )
        if outcome != .acknowledged { Thread.sleep(forTimeInterval: Self.pauseSeconds) }
    }
}

/// The outcomes of the writes to one store.
final class FailoverLedger: Sendable {
    /// The outcome that a writer saw.
    enum Outcome: Sendable {
        case acknowledged, failed, unknown
    }

    /// A write. Its author names it in the history.
    struct Write: Sendable {
        let author: String
        let thread: Int
        let number: Int
        let outcome: Outcome
        /// How often its closure ran.
        let runs: Int
        let began: ContinuousClock.Instant
        let ended: ContinuousClock.Instant
    }

    private let noted = Mutex<[Write]>([])

    var writes: [Write] { noted.withLock { $0 } }

    func note(_ write: Write) { noted.withLock { $0.append(write) } }

    /// Whether a write that began after an instant was acknowledged.
    func hasAcknowledged(since instant: ContinuousClock.Instant) -> Bool {
        noted.withLock { $0.contains { $0.outcome == .acknowledged && $0.began > instant } }
    }
}

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
