import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker

/// The time from a commit's return until the consumer has an entry that was inserted somewhere among 100,000.
struct LiveInsertions {
    private static let goalMilliseconds = 0.2
    /// Per round, one after another.
    private static let insertions = 100
    /// Fetching everything again takes long.
    private static let insertionsOfGRDB = 5

    private let directory: URL
    private let rounds: Int
    private let data = BenchData(habits: 100, entriesEach: 1_000)

    init(_ directory: URL, rounds: Int) {
        self.directory = directory.appendingPathComponent("insertions")
        self.rounds = rounds
    }

    func measure() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        func path(_ name: String) -> String { directory.appendingPathComponent(name).path }
        let sides: [(side: any LiveSide, insertions: Int)] = [
            (try StoreLiveSide(.sqlite, path("sqlite"), data), Self.insertions),
            (try StoreLiveSide(.lmdb, path("lmdb"), data), Self.insertions),
            (try GRDBLiveSide(path("grdb"), data), Self.insertionsOfGRDB),
        ]
        var times: [String: [Double]] = [:]
        let count = data.entries.count
        let consumers = sides.map { $0.side.follow { count, _ in count } }
        for consumer in consumers { try consumer.wait(for: count) }
        var counts = Array(repeating: count, count: sides.count)
        var random = SeededGenerator(seed: 5)
        for _ in 0..<rounds {
            for (place, (side, insertions)) in sides.enumerated() {
                for _ in 0..<insertions {
                    let neighbour = data.entries[Int(random.next() % UInt64(data.entries.count))]
                    try side.insert(Entry(date: neighbour.date, value: 1, habitID: neighbour.habitID))
                    let returned = ContinuousClock.now
                    counts[place] += 1
                    let arrived = try consumers[place].wait(for: counts[place])
                    times[side.name, default: []].append(max(0, (arrived - returned) / .milliseconds(1)))
                }
            }
        }
        print(
            "\nAn entry inserted among \(count.grouped) followed entries in the order of their dates: from the commit's"
        )
        print(
            "return to the consumer's answer. \(rounds) rounds in turn of \(Self.insertions), with GRDB \(Self.insertionsOfGRDB).\n"
        )
        print("| store | median, ms | p99, ms | goal | met | GRDB / ours |")
        print("|---|---:|---:|---:|---|---:|")
        for (side, _) in sides { print(row(side.name, times)) }
        for (side, _) in sides { try side.close() }
    }

    private func row(_ name: String, _ times: [String: [Double]]) -> String {
        let median = LiveRun.median(times[name] ?? [])
        var cells = [name, LiveRun.text(median, 3), LiveRun.text(LiveRun.percentile(99, times[name] ?? []), 3)]
        if name == GRDBLiveSide.sideName {
            cells += ["–", "–", "–"]
        } else {
            cells += LiveRun.goal(median, Self.goalMilliseconds)
            cells.append(LiveRun.text(LiveRun.median(times[GRDBLiveSide.sideName] ?? []) / median, 0))
        }
        return "| \(cells.joined(separator: " | ")) |"
    }
}
