import Foundation
import HabitStore

/// `habitstore-bench [FIXTURE] [ROUNDS] [SUITE]`: measures, all sides in turn and in one run, and prints medians and
/// ratios as Markdown. On the heavy fixture, the suite `basics` reads by id, reads ranges, scans and loads, through the
/// public API and by hand in C; the suite `plans` asks every kind of query, GRDB's requests beside. The suite `flags`
/// evaluates feature flags and changes their files; the suite `rollout` writes and reads through a user's store and pulls
/// the kill switch for all users; the suite `verifier` compares two stores of 200,000 entries. These need no fixture.
/// Without a suite: all.
@main
enum Main {
    static func main() {
        let arguments = CommandLine.arguments
        if arguments.count > 1, arguments[1] == KillUsers.childArgument { return KillUsers.runChild(arguments) }
        if arguments.count > 1, arguments[1] == VerifierRun.childArgument { return VerifierRun.runChild(arguments) }
        let fixture = arguments.count > 1 ? arguments[1] : "fixtures/heavy.sqlite"
        let rounds = arguments.count > 2 ? Int(arguments[2]) ?? 7 : 7
        let suite = arguments.count > 3 ? Suite(rawValue: arguments[3]) : .all
        do {
            guard let suite else { throw BenchError("the suites are basics, plans, flags, rollout, verifier and all") }
            try run(fixture, rounds: max(1, rounds), suite)
        } catch {
            FileHandle.standardError.write(Data("habitstore-bench: error: \(error)\n".utf8))
            exit(1)
        }
    }

    private enum Suite: String {
        case basics, plans, flags, rollout, verifier, all

        var needsFixture: Bool { [.basics, .plans, .all].contains(self) }
    }

    private static func run(_ fixture: String, rounds: Int, _ suite: Suite) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("habitstore-bench-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        if suite.needsFixture {
            try measureStores(BenchData(fixture: fixture), directory, rounds: rounds, suite)
        }
        if suite == .flags || suite == .all { try FlagRun(directory, rounds: rounds).measure() }
        if suite == .rollout || suite == .all { try RolloutRun(directory, rounds: rounds).measure() }
        if suite == .verifier || suite == .all { try VerifierRun(directory, rounds: rounds).measure() }
    }

    private static func measureStores(_ data: BenchData, _ directory: URL, rounds: Int, _ suite: Suite) throws {
        print("\(data.habits.count) habits, \(data.entries.count) entries, \(rounds) rounds in turn; medians.")
        if suite != .plans { try measureBasics(data, directory, rounds: rounds) }
        if suite != .basics {
            let run = try PlanRun(data, directory, rounds: rounds)
            defer { run.close() }
            try run.measure()
        }
    }

    private static func measureBasics(_ data: BenchData, _ directory: URL, rounds: Int) throws {
        print("\n| engine | work | ours, ms | C, ms | ratio |")
        print("|---|---|---:|---:|---:|")
        for engine in [SQLiteBench(), LMDBBench()] as [any BenchEngine] {
            for row in try EngineRun(engine, data, directory, rounds: rounds).measure() { print(row) }
        }
    }
}

/// All measurements of one engine.
private struct EngineRun {
    let engine: any BenchEngine
    let data: BenchData
    let directory: URL
    let rounds: Int

    init(_ engine: any BenchEngine, _ data: BenchData, _ directory: URL, rounds: Int) {
        self.engine = engine
        self.data = data
        self.directory = directory
        self.rounds = rounds
    }

    func measure() throws -> [String] {
        var rows: [String] = []
        var load = Comparison("bulk load, one transaction")
        for round in 0..<rounds {
            let paths = (path("ours", round), path("hand", round))
            let store = try engine.openStore(paths.0)
            try load.time(\.ours) { try StoreOperations.load(store, data) }
            store.close()
            try load.time(\.byHand) { try engine.loadByHand(paths.1, data) }
        }
        rows.append(load.row(engine.name))
        let store = try engine.openStore(path("ours", rounds - 1))
        let yardstick = try engine.openByHand(path("hand", rounds - 1))
        defer {
            store.close()
            yardstick.close()
        }
        let operations = StoreOperations(store: store)
        let (bytes, ranges) = (data.shuffledBytes, data.cRanges)
        rows.append(
            try compare(
                "\(data.shuffled.count) reads by id, one transaction",
                { try operations.readIdentifiers(data.shuffled) },
                { try yardstick.readIdentifiers(bytes, data.shuffled.count) }
            )
        )
        rows.append(
            try compare(
                "\(ranges.count) ranges of one habit, 30 entries each",
                { try operations.ranges(data.ranges) },
                { try yardstick.ranges(ranges) }
            )
        )
        rows.append(try compare("full scan", { try operations.scan() }, { try yardstick.scan() }))
        return rows
    }

    private func path(_ name: String, _ round: Int) -> String {
        directory.appendingPathComponent("\(engine.name)-\(name)-\(round)").path
    }

    private func compare(
        _ work: String,
        _ ours: () throws -> UInt64,
        _ byHand: () throws -> UInt64
    ) throws -> String {
        var comparison = Comparison(work)
        guard try ours() == byHand() else { throw BenchError("\(engine.name), \(work): the answers differ") }
        for _ in 0..<rounds {
            try comparison.time(\.ours) { _ = try ours() }
            try comparison.time(\.byHand) { _ = try byHand() }
        }
        return comparison.row(engine.name)
    }
}

/// The times of one kind of work, both ways.
private struct Comparison {
    let work: String
    var ours: [Double] = []
    var byHand: [Double] = []

    init(_ work: String) { self.work = work }

    mutating func time(_ side: WritableKeyPath<Comparison, [Double]>, _ body: () throws -> Void) throws {
        let start = ContinuousClock.now
        try body()
        self[keyPath: side].append((ContinuousClock.now - start) / .milliseconds(1))
    }

    func row(_ engine: String) -> String {
        let (first, second) = (Self.median(ours), Self.median(byHand))
        let numbers = [first, second, first / second].map { String(format: "%.2f", $0) }
        return "| \(engine) | \(work) | \(numbers[0]) | \(numbers[1]) | \(numbers[2]) |"
    }

    private static func median(_ times: [Double]) -> Double { times.sorted()[times.count / 2] }
}
