import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker

/// Makes streams with random queries about the records of the concurrent sweep's writers.
struct LiveQuestions {
    private var random: SeededGenerator
    private var filters: RandomFilters
    /// Records like those of the writers.
    private let sample: InMemoryHabitStore

    private static let sampleLanes = 3
    private static let sampleWrites = 12
    /// How often a condition is drawn to find one that cannot fail.
    private static let tries = 20
    private static let busyMilliseconds = 30

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        sample = try InMemoryHabitStore(schema: HabitSchema.current)
        try sample.write(author: nil) { transaction in
            for number in 1...Self.sampleWrites {
                for writerIndex in 1...Self.sampleLanes {
                    try ConcurrentWorkload.write(writerIndex * ConcurrentWorkload.writerWidth + number, in: transaction)
                }
            }
        }
        filters = RandomFilters(about: try FuzzData(name: "concurrent", of: sample), seed: seed &+ 1)
    }

    /// The next stream.
    mutating func next() throws -> any LiveFollower {
        switch random.int(0...9) {
        case 0: return tokens()
        case 1..<5: return try stream(Draft.self, [SortDescriptor(\.creationDate), SortDescriptor(\.content)])
        case 5..<8: return try stream(Entry.self, [SortDescriptor(\.note), SortDescriptor(\.value)])
        default: return try stream(Habit.self, [SortDescriptor(\.streak)])
        }
    }

    private mutating func tokens() -> any LiveFollower {
        LiveAnswers("the moments", seed: random.next(), busyMilliseconds: busy()) { store, take in
            for try await token in store.tokens() {
                try await take(.init(token: token, cause: nil, answer: token, isConsistent: true))
            }
        } fetch: {
            try $0.information().token
        }
    }

    private mutating func stream<M: PersistentModel & Equatable>(
        _ type: M.Type,
        _ orders: [SortDescriptor<M>]
    ) throws -> any LiveFollower {
        let descriptor = try descriptor(type, orders)
        let name =
            "\(type), \(try sample.explain(descriptor).filter), \(descriptor.sortBy.count) keys, "
            + "limit \(descriptor.fetchLimit.map(String.init) ?? "none"), offset \(descriptor.fetchOffset)"
        let (seed, busy) = (random.next(), busy())
        switch random.int(0...9) {
        case 0..<2: return Self.count(name, seed, busy, descriptor)
        case 2..<4: return Self.identifiers(name, seed, busy, descriptor)
        default: return Self.results(name, seed, busy, descriptor)
        }
    }

    private mutating func busy() -> Int { random.chance(50) ? 0 : Self.busyMilliseconds }

    private mutating func descriptor<M: PersistentModel>(
        _ type: M.Type,
        _ orders: [SortDescriptor<M>]
    ) throws -> FetchDescriptor<M> {
        var descriptor = FetchDescriptor<M>(
            filter: .always,
            sortBy: random.chance(70) ? [random.pick(orders)] : [],
            fetchLimit: random.chance(50) ? random.int(1...40) : nil,
            fetchOffset: random.chance(20) ? random.int(0...10) : 0
        )
        guard random.chance(70) else { return descriptor }
        let entity = try sample.schema.position(of: type)
        for _ in 0..<Self.tries {
            descriptor.filter = Filter(filters.next(entity: entity))
            // A query that may fail ends its stream at a commit that a busy consumer may never see.
            if try sample.explainLive(descriptor).askedAgainBecause == nil { return descriptor }
        }
        descriptor.filter = .always
        return descriptor
    }

    private static func results<M: PersistentModel & Equatable>(
        _ name: String,
        _ seed: UInt64,
        _ busy: Int,
        _ descriptor: FetchDescriptor<M>
    ) -> any LiveFollower {
        LiveAnswers("results of \(name)", seed: seed, busyMilliseconds: busy) { store, take in
            var known: [M] = []
            for try await change in store.results(of: descriptor) {
                change.apply(to: &known)
                let answer = Array(change.records)
                try await take(
                    .init(token: change.token, cause: change.cause, answer: answer, isConsistent: known == answer)
                )
            }
        } fetch: {
            try $0.fetch(descriptor)
        }
    }

    private static func identifiers<M: PersistentModel>(
        _ name: String,
        _ seed: UInt64,
        _ busy: Int,
        _ descriptor: FetchDescriptor<M>
    ) -> any LiveFollower {
        LiveAnswers("identifiers of \(name)", seed: seed, busyMilliseconds: busy) { store, take in
            var known: [UUID] = []
            for try await change in store.identifiers(of: descriptor) {
                change.apply(to: &known)
                let answer = Array(change.records)
                try await take(
                    .init(token: change.token, cause: change.cause, answer: answer, isConsistent: known == answer)
                )
            }
        } fetch: {
            try $0.fetchIdentifiers(descriptor)
        }
    }

    private static func count<M: PersistentModel>(
        _ name: String,
        _ seed: UInt64,
        _ busy: Int,
        _ descriptor: FetchDescriptor<M>
    ) -> any LiveFollower {
        LiveAnswers("count of \(name)", seed: seed, busyMilliseconds: busy) { store, take in
            var last: Int?
            for try await count in store.count(of: descriptor) {
                let isConsistent = count.count != last
                last = count.count
                try await take(
                    .init(token: count.token, cause: count.cause, answer: count.count, isConsistent: isConsistent)
                )
            }
        } fetch: {
            try $0.fetchCount(descriptor)
        }
    }
}

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
        numbers = history.map { ConcurrentWorkload.number($0.author) ?? 0 }
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
            try store.write(author: ConcurrentWorkload.author(number)) { try ConcurrentWorkload.write(number, in: $0) }
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
