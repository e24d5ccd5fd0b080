import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker

/// The cost of commits under one live query, each of which changes a record of its answer.
struct LiveCommits {
    private static let goal = 1.1
    private static let commits = 10_000
    private static let commitsOfGRDB = 2_000
    /// How many commits are timed together, with or without the live query.
    private static let commitsInTurn = 100

    private let directory: URL
    private let data: BenchData

    init(_ directory: URL, _ data: BenchData) {
        (self.directory, self.data) = (directory.appendingPathComponent("commits"), data)
    }

    func measure() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        func path(_ name: String) -> String { directory.appendingPathComponent(name).path }
        print(
            "\n\(Self.commits.grouped) commits (with GRDB \(Self.commitsOfGRDB.grouped)), each changing one of \(data.entries.count.grouped) entries, without a live query"
        )
        print(
            "and with one over all of them, until it reports the last; in turns of \(Self.commitsInTurn); medians of neighbouring turns' ratios.\n"
        )
        print("| store | commit without, ms | with, ms | ratio | goal | met | of all |")
        print("|---|---:|---:|---:|---:|---|---:|")
        try show(StoreLiveSide(.sqlite, path("sqlite"), data), Self.commits)
        try show(StoreLiveSide(.lmdb, path("lmdb"), data), Self.commits)
        try show(GRDBLiveSide(path("grdb"), data), Self.commitsOfGRDB)
    }

    /// One file, followed in every second turn: a file's place on the disk affects the time of its syncs.
    private func show(_ side: any LiveSide, _ commits: Int) throws {
        var random = SeededGenerator(seed: 9)
        var times = (alone: [Double](), followed: [Double]())
        for turn in 0..<commits / Self.commitsInTurn {
            let entries = (0..<Self.commitsInTurn - 1).map { _ in
                data.entries[Int(random.next() % UInt64(data.entries.count - 1))]
            }
            if turn % 2 == 0 { times.alone.append(try time(side, entries, 2 * turn, nil)) }
            // The last entry's value shows which commit an answer includes.
            let consumer = side.follow { _, last in Int(last ?? 0) }
            try consumer.wait(for: 0)
            times.followed.append(try time(side, entries, 2 * turn + 1, consumer))
            try consumer.stop()
            if turn % 2 == 1 { times.alone.append(try time(side, entries, 2 * turn, nil)) }
        }
        let ratio = LiveRun.median(zip(times.followed, times.alone).map { $0 / $1 })
        let all = times.followed.reduce(0, +) / times.alone.reduce(0, +)
        var cells = [side.name, LiveRun.text(LiveRun.median(times.alone), 3)]
        cells += [LiveRun.text(LiveRun.median(times.followed), 3), LiveRun.text(ratio, 3)]
        cells += side is StoreLiveSide ? LiveRun.goal(ratio, Self.goal) : ["–", "–"]
        cells.append(LiveRun.text(all, 3))
        print("| \(cells.joined(separator: " | ")) |")
        fflush(nil)
        try side.close()
    }

    /// Milliseconds per commit.
    private func time(_ side: any LiveSide, _ entries: [Entry], _ turn: Int, _ consumer: LiveConsumer?) throws -> Double
    {
        guard var last = data.entries.last else { return 0 }
        let progress = 1_000 + turn
        last.value = Double(progress)
        let start = ContinuousClock.now
        for (number, entry) in entries.enumerated() {
            var entry = entry
            entry.value = Double(turn * entries.count + number) / 1_000
            try side.update(entry)
        }
        try side.update(last)
        try consumer?.wait(for: progress)
        return (ContinuousClock.now - start) / .milliseconds(1) / Double(entries.count + 1)
    }
}
