import CYardstick
import Foundation
@_spi(Engines) import HabitStore

/// The cost of a commit while a thousand live queries wait that it does not concern: half of them on another entity, half on the same entity by
/// unchanged attributes. The row with a single one shows how much of the cost grows with their number.
struct LiveIdleQueries {
    private static let numbers = [0, 1, 1_000]
    private static let goal = 1.03
    /// How many commits are timed, each separately, before the next row's number of live queries wait.
    private static let commits = 50
    /// The turns in each round.
    private static let turns = 10

    private let directory: URL
    private let data: BenchData
    private let rounds: Int

    /// The costs of commits with a number of live queries, one for each turn.
    private final class Row {
        let number: Int
        var milliseconds: [Double] = []
        var allocations: [Double] = []
        var recordsRead = 0

        init(_ number: Int) { self.number = number }
    }

    init(_ directory: URL, _ data: BenchData, rounds: Int) {
        (self.directory, self.data, self.rounds) = (directory.appendingPathComponent("idle"), data, rounds)
    }

    func measure() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        print("\nCommits that change the note of one entry, with live queries that they do not concern:")
        print(
            "\(rounds * Self.turns) times \(Self.commits) of each in turn; medians, and of the neighbours' ratios.\n"
        )
        print(
            "| store | live queries | a commit, ms | ratio | goal | met | writer's allocations | records read |"
        )
        print("|---|---:|---:|---:|---:|---|---:|---:|")
        for engine in [TableEngine.sqlite, .lmdb] { try measure(engine) }
    }

    /// One file, with other live queries in each turn: a file's place on the disk affects the time of its syncs.
    private func measure(_ engine: TableEngine) throws {
        let side = try StoreLiveSide(engine, directory.appendingPathComponent(engine.rawValue).path, data)
        defer { side.close() }
        let rows = Self.numbers.map(Row.init)
        for turn in 0..<rounds * Self.turns {
            for place in rows.indices {
                try measure(side, rows[(turn + place) % rows.count], turn * rows.count + place)
            }
        }
        for row in rows { print(text(row, rows[0], engine)) }
        fflush(nil)
    }

    private func measure(_ side: StoreLiveSide, _ row: Row, _ turn: Int) throws {
        let consumers = try follow(side, row.number)
        let before = side.store.liveQueries.statistics
        try time(side, row, turn)
        if row.number > 0 { try side.settle(changes: before.changes + Self.commits) }
        for consumer in consumers { try consumer.stop() }
        let after = side.store.liveQueries.statistics
        guard after.asked == before.asked, after.patched == before.patched else {
            throw BenchError("a commit affected a live query")
        }
        row.recordsRead += after.recordsRead - before.recordsRead
    }

    private func text(_ row: Row, _ alone: Row, _ engine: TableEngine) -> String {
        var cells = [engine.rawValue, row.number.grouped, LiveRun.text(LiveRun.median(row.milliseconds), 3)]
        if row.number == 0 {
            cells += ["–", "–", "–"]
        } else {
            let ratio = LiveRun.median(zip(row.milliseconds, alone.milliseconds).map { $0 / $1 })
            cells.append(LiveRun.text(ratio, 3))
            cells += row.number == Self.numbers.last ? LiveRun.goal(ratio, Self.goal) : ["–", "–"]
        }
        cells += [LiveRun.text(LiveRun.median(row.allocations), 1), String(row.recordsRead)]
        return "| \(cells.joined(separator: " | ")) |"
    }

    /// The cost of a commit in one turn: the median time and the mean allocations.
    private func time(_ side: StoreLiveSide, _ row: Row, _ turn: Int) throws {
        var times: [Double] = []
        times.reserveCapacity(Self.commits)
        let allocations = cy_thread_allocations()
        for number in 0..<Self.commits {
            var entry = data.entries[(turn * Self.commits + number) &* 7_919 % data.entries.count]
            entry.note = "turn \(turn), \(number)"
            let start = ContinuousClock.now
            try side.update(entry)
            times.append((ContinuousClock.now - start) / .milliseconds(1))
        }
        let allocated = Double(cy_thread_allocations() - allocations)
        row.milliseconds.append(LiveRun.median(times))
        row.allocations.append(allocated / Double(Self.commits))
    }

    private func follow(_ side: StoreLiveSide, _ count: Int) throws -> [LiveConsumer] {
        let store = side.store
        let consumers = (0..<count).map { number in
            guard number % 2 == 0 else {
                let name = "Habit \(number)"
                let habits = FetchDescriptor<PlainHabit>(predicate: #Predicate { $0.name == name })
                return LiveConsumer(store.results(of: habits)) { _ in 1 }
            }
            let range = data.ranges[number]
            return LiveConsumer(store.identifiers(of: PlainEntry.range(range.habit, range.from, range.to))) { _ in 1 }
        }
        for consumer in consumers { try consumer.wait(for: 1) }
        return consumers
    }
}
