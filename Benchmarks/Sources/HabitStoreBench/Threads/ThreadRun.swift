import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines
import Synchronization

/// The suite `threads`: short reads and durable commits by 1, 2, 4 and 8 threads, on one user's store and on one store per thread, compared with
/// hand-written C.
struct ThreadRun {
    private static let threads = [1, 2, 4, 8]
    private static let mostThreads = 8
    private static let reads = 80_000
    private static let mixed = 4_000
    /// One operation in this many of the mixed work is a commit.
    private static let commitEvery = 20

    private let directory: URL
    private let rounds: Int
    private let data: BenchData

    /// The work of all threads together.
    private enum Mix: String, CaseIterable {
        case reads = "reads by id, a transaction each"
        case mixed = "95 reads, 5 durable commits"

        var operations: Int { self == .reads ? ThreadRun.reads : ThreadRun.mixed }
    }

    /// A row of the table.
    private struct Row {
        let side: String
        let mix: Mix
        let isOneUser: Bool
        let threads: Int
        /// The milliseconds of each round.
        var times: [String: [Double]] = [:]

        func median(_ name: String) -> Double { times[name].map { $0.sorted()[$0.count / 2] } ?? .nan }
    }

    init(_ directory: URL, rounds: Int) {
        self.directory = directory.appendingPathComponent("threads")
        self.rounds = rounds
        let commits = Self.mixed / Self.commitEvery
        data = BenchData(habits: 200, entriesEach: 100, spare: commits * rounds * Self.threads.count * 2)
    }

    func measure() throws {
        print("\n\(data.entries.count.grouped) entries for each user, \(rounds) rounds in turn; medians.\n")
        print("| work | on | store | threads | ours, µs per operation | C | ratio | our speedup | C |")
        print("|---|---|---|---:|---:|---:|---:|---:|---:|")
        for engine in [TableEngine.sqlite, .lmdb] {
            try measure(engine.rawValue, engine) { paths in
                let stores = try paths.map { try engine.open($0, schema: PlainEntry.schema) }
                return SharedStores(stores, data) { for store in stores { store.close() } }
            }
        }
        try measureRouted()
    }

    /// The same through a user's store on SQLite.
    private func measureRouted() throws {
        let users = try RolloutUsers(directory.appendingPathComponent("routed"))
        let stores = try users.stores(schema: PlainEntry.schema)
        try measure("a user's, SQLite", .sqlite) { _ in
            let opened = try (0..<Self.mostThreads).map { try stores.store(for: "user-\($0)") }
            for store in opened {
                try store.write(author: "bench") { transaction in
                    try PlainEntry.insert(habitsOf: data, transaction)
                    for entry in data.entries { try transaction.insert(PlainEntry(entry)) }
                }
            }
            return SharedStores(opened, data) { for store in opened { store.close() } }
        }
    }

    private func measure(
        _ name: String,
        _ engine: TableEngine,
        _ ours: ([String]) throws -> any ThreadSide
    ) throws {
        let folder = directory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let paths = (0..<Self.mostThreads).map { folder.appendingPathComponent("ours-\($0)").path }
        let others = (0..<Self.mostThreads).map { folder.appendingPathComponent("c-\($0)").path }
        let yardstick = YardstickContestant(engine == .sqlite ? .sqlite : .lmdb, .byIdentifier, data)
        for path in others { try yardstick.load(path) }
        if name == engine.rawValue {
            let app = AppContestant<PlainEntry>(engine, data)
            for path in paths { try app.load(path) }
        }
        let sides: [(String, any ThreadSide)] = [
            ("ours", try ours(paths)),
            ("C", try YardstickThreads(engine, others, threads: Self.mostThreads, data)),
        ]
        defer { for (_, side) in sides { side.close() } }
        for mix in Mix.allCases {
            for isOneUser in [true, false] { try measure(name, mix, isOneUser, sides) }
        }
    }

    private func measure(_ name: String, _ mix: Mix, _ isOneUser: Bool, _ sides: [(String, any ThreadSide)]) throws {
        var rows = Self.threads.map { Row(side: name, mix: mix, isOneUser: isOneUser, threads: $0) }
        for round in 0..<rounds {
            for place in rows.indices {
                let number = (round * rows.count + place) * 2 + (isOneUser ? 0 : 1)
                var sums: [UInt64] = []
                for (name, side) in sides {
                    let (time, sum) = try run(rows[place], number, side)
                    rows[place].times[name, default: []].append(time)
                    sums.append(sum)
                }
                guard Set(sums).count == 1 else { throw BenchError("\(name): the sides read different records") }
            }
        }
        for row in rows { show(row, rows[0]) }
    }

    /// - Parameter number: the run's number, which determines its spare entries.
    /// - Returns: milliseconds from the start of all threads until the last one's end, and the sum of what they read.
    private func run(_ row: Row, _ number: Int, _ side: any ThreadSide) throws -> (Double, UInt64) {
        let (mix, isOneUser, threads) = (row.mix, row.isOneUser, row.threads)
        let firstSpare = number * Self.mixed / Self.commitEvery
        let outcome = Outcome()
        let time = Self.onThreads(threads) { thread in
            let share = mix.operations * thread / threads..<mix.operations * (thread + 1) / threads
            outcome.add {
                var sum: UInt64 = 0
                for operation in share {
                    let user = isOneUser ? 0 : thread
                    if mix == .mixed, operation % Self.commitEvery == 0 {
                        try side.commit(firstSpare + operation / Self.commitEvery, user: user, thread: thread)
                    } else {
                        sum &+= try side.read(operation &* 7_919, user: user, thread: thread)
                    }
                }
                return sum
            }
        }
        return (time, try outcome.sum())
    }

    /// The result of a run's threads.
    private final class Outcome: Sendable {
        private let result = Mutex<Result<UInt64, any Error>>(.success(0))

        func add(_ body: () throws -> UInt64) {
            let own = Result(catching: body)
            result.withLock { result in
                switch (result, own) {
                case (.success(let sum), .success(let own)): result = .success(sum &+ own)
                case (.success, .failure): result = own
                case (.failure, _): break
                }
            }
        }

        func sum() throws -> UInt64 { try result.withLock { try $0.get() } }
    }

    /// - Returns: milliseconds from the common start until the last thread's end.
    private static func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> Double {
        let (ready, done) = (DispatchGroup(), DispatchGroup())
        let start = DispatchSemaphore(value: 0)
        for thread in 0..<count {
            ready.enter()
            done.enter()
            Thread.detachNewThread {
                ready.leave()
                start.wait()
                body(thread)
                done.leave()
            }
        }
        ready.wait()
        let begin = ContinuousClock.now
        for _ in 0..<count { start.signal() }
        done.wait()
        return (ContinuousClock.now - begin) / .milliseconds(1)
    }

    private func show(_ row: Row, _ single: Row) {
        let perOperation = 1_000 / Double(row.mix.operations)
        let (ours, yardstick) = (row.median("ours"), row.median("C"))
        let cells = [
            row.mix.rawValue, row.isOneUser ? "one user" : "a user each", row.side, String(row.threads),
            Self.text(ours * perOperation, 2), Self.text(yardstick * perOperation, 2), Self.text(ours / yardstick, 2),
            Self.text(single.median("ours") / ours, 2), Self.text(single.median("C") / yardstick, 2),
        ]
        print("| \(cells.joined(separator: " | ")) |")
        fflush(nil)
    }

    private static func text(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
}
