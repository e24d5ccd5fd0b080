import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker

/// Writes to and reads from the open store, and reports the results.
struct ConcurrentWriter: Sendable {
    let progress: ConcurrentProgress
    /// Whether a trouble may last until the end.
    let isTroubled: Bool
    /// The pause after each write.
    let restMilliseconds: Int

    /// The pause after a failed write: its cause may take a moment to pass.
    private static let restSeconds = 0.01

    /// A verification takes longer with each write, and never ends on a busy machine if the writers do not slow down: after the first of these, the
    /// pause grows by a millisecond with as many writes as the second says.
    private static let (fastWrites, writesPerMillisecond) = (500, 10)

    /// Errors that an intact process must never get, and errors that it gets only while the system refuses it something.
    private static let never: Set<HabitStoreError.Code> = [.staleStore, .fileMoved, .corrupt, .notAStore]
    private static let passing: Set<HabitStoreError.Code> = [
        .inputOutput, .full, .permissionDenied, .limitExceeded, .engineUnavailable, .outcomeUnknown, .closed,
    ]

    /// How long a cause of failures may last at the end, in seconds.
    private static let lastSeconds = 4.0

    /// Writes until the process has to end, and then once more: only a kill may prevent that write in an intact process.
    func write(from first: Int) {
        let number = writeAll(from: first)
        guard let store = progress.present?.store else { return }
        let deadline = ContinuousClock.now + .seconds(Self.lastSeconds)
        for number in number... {
            do {
                return try write(number, to: store)
            } catch let error as HabitStoreError
                where Self.never.contains(error.code) || !isTroubled && Self.passing.contains(error.code)
            {
                guard ContinuousClock.now < deadline else {
                    return Report.Line.violation.tell("the process cannot write: \(Report.text(error))")
                }
                Thread.sleep(forTimeInterval: Self.restSeconds)
            } catch {
                return
            }
        }
    }

    private func writeAll(from first: Int) -> Int {
        var number = first
        while !progress.isEnded {
            var hasFailed = false
            progress.doing {
                guard let store = progress.present?.store else {
                    hasFailed = true
                    return
                }
                hasFailed = (try? write(number, to: store)) == nil
                number += 1
            }
            if hasFailed { Thread.sleep(forTimeInterval: Self.restSeconds) }
            let pause = restMilliseconds + max(0, number - first - Self.fastWrites) / Self.writesPerMillisecond
            if pause > 0 { Thread.sleep(forTimeInterval: Double(pause) / 1_000) }
        }
        return number
    }

    /// Writes, and reports the result.
    private func write(_ number: Int, to store: UserStore) throws {
        try ConcurrentWorkload.tell(number, to: store)
        progress.acknowledged.store(number, ordering: .sequentiallyConsistent)
    }

    func read() {
        while !progress.isEnded {
            progress.doing {
                guard let store = progress.present?.store else { return }
                read(store)
            }
            Thread.sleep(forTimeInterval: 0.001)
        }
    }

    /// A reader sees a state between two writes that includes this process's last acknowledged write.
    private func read(_ store: UserStore) {
        let last = progress.acknowledged.load(ordering: .sequentiallyConsistent)
        do {
            let (wrong, isThere) = try store.read { transaction in
                (
                    try ConcurrentWorkload.contradiction(transaction),
                    last == 0 ? true : try ConcurrentWorkload.has(last, transaction)
                )
            }
            if let wrong { Report.Line.violation.tell("a read: \(wrong)") }
            if !isThere { Report.Line.violation.tell("a read misses the acknowledged write \(last)") }
        } catch {
            Report.Line.notMoved.tell("read: \(Report.text(error))")
        }
    }
}

/// The writes of processes that write at the same time. Each process has a writerIndex with rising numbers; the expected contents of a store follow from the
/// set
/// of writes in it, in whatever order the lanes wrote.
///
/// Write `n` increments the counter, leaves a draft that stays, inserts an entry that write `n + 4` of its writerIndex deletes, and stores its number in one
/// of
/// its writerIndex's lasting entries. So a write that was overwritten, torn or undone by a copy is visible.
enum ConcurrentWorkload: NumberedWrites {
    /// The number of lanes; writerIndex 0 is for the writes before the scenario and for the recovery.
    static let lanes = 32
    /// The distance between the lanes' numbers.
    static let writerWidth = 1_000_000
    /// How many lasting entries each writerIndex has.
    private static let lasting = 5
    /// After how many writes of a writerIndex its passing entry is deleted.
    private static let passing = 4

    static let counterID = id(.counter, 0)

    enum Kind: Int {
        case counter, lasting, passing, log, bulk
    }

    private static func writerIndex(_ number: Int) -> Int { number / writerWidth }

    /// The lasting entry that a write changes.
    private static func place(_ number: Int) -> Int { writerIndex(number) * lasting + number % lasting }

    private static func entry(_ kind: Kind, _ place: Int, _ value: Int) -> Entry {
        Entry(id: id(kind, place), date: date(place), note: "\(kind) \(value)", value: Double(value), habitID: nil)
    }

    /// Write `number`.
    static func write(_ number: Int, in transaction: any WriteTransaction) throws {
        if var counter = try transaction.model(Habit.self, id: counterID) {
            counter.streak += 1
            try transaction.save(counter)
        } else {
            try transaction.insert(Habit(id: counterID, name: "counter", createdAt: date(0), streak: 1))
        }
        try transaction.insert(Draft(id: id(.log, number), content: "\(number)", creationDate: date(number)))
        try transaction.insert(entry(.passing, number, number))
        let passed = number - passing
        if passed > 0, try transaction.model(Entry.self, id: id(.passing, passed)) != nil {
            try transaction.delete(Entry.self, id: id(.passing, passed))
        }
        try transaction.save(entry(.lasting, place(number), number))
    }

    /// Inserts records that only make a copy long. They are not counted as writes.
    static func fill(_ records: Int, in transaction: any WriteTransaction) throws {
        for number in 0..<records { try transaction.insert(entry(.bulk, number, number)) }
    }

    /// Removes a record from a filled store without leaving a trace, and closes the store.
    static func spoil(_ store: any UserStoreBackend) throws {
        defer { store.close() }
        let name = "\(Entry.self)"
        guard let entity = store.schema.entities.firstIndex(where: { $0.name == name }) else {
            throw HabitStoreError(.unknownEntity, "the schema has no entity \(name)")
        }
        try store.replicate { try $0.remove(entity: entity, id: id(.bulk, 0)) }
    }

    /// Whether a store contains a write.
    static func has(_ number: Int, _ transaction: any ReadTransaction) throws -> Bool {
        try transaction.model(Draft.self, id: id(.log, number)) != nil
    }

    /// Everything that is wrong with the records of a store.
    ///
    /// - Parameter bulk: the number of records that only make copies long; nil if the store may be an older one without them.
    static func faults(_ transaction: any ReadTransaction, bulk: Int?) throws -> [String] {
        let numbers = try numbers(transaction)
        var expected = Dictionary(
            uniqueKeysWithValues: (0..<(bulk ?? 0)).map { entry(.bulk, $0, $0) }.map { ($0.id, $0) }
        )
        let present = Set(numbers)
        for number in numbers where !present.contains(number + passing) {
            expected[id(.passing, number)] = entry(.passing, number, number)
        }
        for number in numbers.sorted() {
            expected[id(.lasting, place(number))] = entry(.lasting, place(number), number)
        }
        var found = try transaction.all(Entry.self)
        if bulk == nil { found.removeAll { $0.note?.hasPrefix("\(Kind.bulk) ") == true } }
        let entries = Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
        var faults = try contradiction(transaction).map { [$0] } ?? []
        if present.count != numbers.count { faults.append("a write exists twice") }
        let wrong = entries.filter { expected[$0.key] != nil && expected[$0.key] != $0.value }
        let missing = expected.filter { entries[$0.key] == nil }
        let extra = entries.filter { expected[$0.key] == nil }
        for (what, entries) in [("not as written", wrong), ("missing", missing), ("unexpected", extra)]
        where !entries.isEmpty {
            let notes = entries.values.compactMap(\.note).sorted().prefix(5).joined(separator: ", ")
            faults.append("\(entries.count) entries are \(what): \(notes)")
        }
        return faults
    }
}
