import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import ShadowVerifier
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

/// A process that writes until its standard input ends.
struct SoakProcess {
    private let child: ChildProcess

    init(_ command: SoakCommand, root: String) throws {
        let arguments = [
            "soak", "--write-into", root, "--writers", "\(command.writers - command.writers / 2)",
            "--seed", "\(command.seed &* 17)", "--from", command.from.rawValue,
        ]
        let server = command.server.map { ["--server", $0] } ?? []
        child = try ChildProcess(ChildProcess.ownProgram, arguments + server, input: .open, errors: .inherited)
    }

    /// Ends the process.
    ///
    /// - Returns: how many transactions it wrote.
    func finish() throws -> Int {
        let end = try child.finish()
        guard end.isSuccess, let count = Int(end.output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw HabitStoreError(.internalInconsistency, "the writing process exited with \(end.status)")
        }
        return count
    }
}

/// The records to write and query: a fixed set of identifiers, some of which exist.
enum SoakRecords {
    static let habits = 24
    static let entries = 160
    static let tags = 12
    static let drafts = 24

    private static let words = [
        "Run", "Read", "Café", "late", "photo.jpg", "a note", "", "spórt", "Étude", "stretch, then rest", "🏃‍♀️", "x",
    ]

    static func id(_ kind: UInt8, _ number: Int) -> UUID {
        UUID(
            uuid: (
                0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(truncatingIfNeeded: number >> 8),
                UInt8(truncatingIfNeeded: number)
            )
        )
    }

    static func habit(_ number: Int, _ random: inout some RandomNumberGenerator) -> Habit {
        Habit(
            id: id(1, number),
            name: word(&random),
            createdAt: date(&random),
            streak: .random(in: 0...400, using: &random),
            category: Bool.random(using: &random) ? nil : word(&random),
            isArchived: .random(using: &random),
            timesPerPeriod: .random(in: 1...3, using: &random),
            periodDays: .random(in: 1...7, using: &random),
            unit: Bool.random(using: &random) ? nil : "km",
            target: Bool.random(using: &random) ? nil : .random(in: 0...2, using: &random),
            tagIDs: []
        )
    }

    static func entry(_ number: Int, _ random: inout some RandomNumberGenerator) -> Entry {
        Entry(
            id: id(2, number),
            date: date(&random),
            note: Bool.random(using: &random) ? nil : word(&random) + " " + word(&random),
            value: Bool.random(using: &random) ? nil : .random(in: -10...120, using: &random),
            habitID: Int.random(in: 0..<10, using: &random) == 0
                ? nil : id(1, .random(in: 0..<habits, using: &random))
        )
    }

    static func tag(_ number: Int, _ random: inout some RandomNumberGenerator) -> Tag {
        Tag(id: id(3, number), name: "\(word(&random)) \(number)")
    }

    static func draft(_ number: Int, _ random: inout some RandomNumberGenerator) -> Draft {
        Draft(
            id: id(4, number),
            content: word(&random),
            creationDate: date(&random),
            attachments: (0..<Int.random(in: 0...3, using: &random)).map { _ in word(&random) }
        )
    }

    private static func word(_ random: inout some RandomNumberGenerator) -> String {
        words.randomElement(using: &random) ?? ""
    }

    private static func date(_ random: inout some RandomNumberGenerator) -> Date {
        Date(timeIntervalSinceReferenceDate: .random(in: -2e9...2e9, using: &random))
    }
}

/// Random queries of every kind: those in a query file, conditions over the whole language, and records by identifier.
struct SoakQuestions {
    private var random: SeededGenerator
    private var filters: RandomFilters
    private let queries: [RecordQuery]

    init(about data: FuzzData, queries: [RecordQuery], seed: UInt64) {
        random = SeededGenerator(seed: seed)
        filters = RandomFilters(about: data, seed: seed &+ 1)
        self.queries = queries
    }

    /// Runs some queries. A failure that is due to the query itself counts as an answer.
    mutating func ask(_ transaction: any ReadTransaction, count: Int) throws {
        for _ in 0..<count {
            do {
                try ask(transaction)
            } catch let error as HabitStoreError where error.code == .evaluationFailed {
                continue
            }
        }
    }

    private mutating func ask(_ transaction: any ReadTransaction) throws {
        let turn = Int.random(in: 0..<10, using: &random)
        if turn < 3, let query = queries.randomElement(using: &random) {
            if Bool.random(using: &random) {
                _ = try transaction.records(query)
            } else {
                _ = try transaction.countRecords(query)
            }
            return
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0..<3: try ask(transaction, Habit.self, 0, [SortDescriptor(\.name), SortDescriptor(\.streak)])
        case 3..<6: try ask(transaction, Entry.self, 1, [SortDescriptor(\.date, order: .reverse)])
        case 6: try ask(transaction, Tag.self, 2, [SortDescriptor(\.name)])
        default: try ask(transaction, Draft.self, 3, [SortDescriptor(\.creationDate)])
        }
    }

    private mutating func ask<M: PersistentModel>(
        _ transaction: any ReadTransaction,
        _ type: M.Type,
        _ number: Int,
        _ order: [SortDescriptor<M>]
    ) throws {
        if Int.random(in: 0..<4, using: &random) == 0 {
            let count = [SoakRecords.habits, SoakRecords.entries, SoakRecords.tags, SoakRecords.drafts][number]
            let id = SoakRecords.id(UInt8(number + 1), .random(in: 0..<count, using: &random))
            _ = try transaction.model(type, id: id)
            return
        }
        let entity = try transaction.schema.position(of: type)
        var descriptor = FetchDescriptor<M>(
            filter: Bool.random(using: &random) ? .always : filters.next(entity: entity),
            sortBy: Bool.random(using: &random) ? order : [],
            fetchLimit: Bool.random(using: &random) ? nil : .random(in: 0...30, using: &random),
            fetchOffset: Bool.random(using: &random) ? 0 : .random(in: 0...10, using: &random)
        )
        switch Int.random(in: 0..<6, using: &random) {
        case 0: _ = try transaction.fetchCount(descriptor)
        case 1: _ = try transaction.fetchIdentifiers(descriptor)
        case 2:
            let page = try transaction.fetchPage(descriptor, size: 5)
            descriptor.cursor = page.next
            if page.next != nil { _ = try transaction.fetchPage(descriptor, size: 5) }
        case 3:
            var left = Int.random(in: 1...8, using: &random)
            try transaction.enumerate(descriptor) { _ in
                left -= 1
                return left > 0
            }
        default: _ = try transaction.fetch(descriptor)
        }
    }
}
