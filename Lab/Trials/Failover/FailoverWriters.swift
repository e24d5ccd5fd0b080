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
