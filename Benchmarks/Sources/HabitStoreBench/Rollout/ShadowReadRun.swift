import Foundation
import HabitStore
import HabitStoreRollout
import HabitTracker

/// The cost of shadow reads for the reader: the same reads by three users, of which none, one in a hundred, or all are compared.
struct ShadowReadRun {
    private static let samples = [0, 100, 1]
    private static let habits = 50
    private static let entries = 5_000
    /// The number of reads in a block; the users take turns block by block.
    private static let block = 100
    private static let blocks = 30
    /// The reader's pauses between two reads, in microseconds: as in an app, and none.
    private static let pauses: [UInt32] = [300, 0]
    /// The allowed ratio of the 99th percentile.
    private static let goals = [100: 1.02, 1: 1.10]

    private let directory: URL
    private let rounds: Int

    init(_ directory: URL, rounds: Int) {
        self.directory = directory
        self.rounds = rounds
    }

    /// A user with one in `oneIn` reads compared, and the duration of each read in microseconds.
    private final class Reader {
        let oneIn: Int
        let store: UserStore
        var times: [Double] = []

        init(_ oneIn: Int, _ store: UserStore) {
            self.oneIn = oneIn
            self.store = store
        }

        func percentile(_ part: Double) -> Double {
            let sorted = times.sorted()
            return sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
        }
    }

    func measure() throws {
        print(
            "\nReads of a user with \(Self.habits) habits and \(Self.entries) entries: of ten, six by identifier, two of a"
        )
        print(
            "habit's last 20 entries, one count, one of all habits by name. \(rounds) rounds of \(Self.block * Self.blocks)"
        )
        print(
            "reads of each user in turn; medians, and medians of the ratios to the user without comparisons."
        )
        print(
            "With a pause after each read, like an app, and without, which keeps both processors busy.\n"
        )
        print("| stage | pause, µs | compared | p50, µs | p99, µs | p50 ratio | p99 ratio | p99 goal | met | matched |")
        print("|---|---:|---|---:|---:|---:|---:|---:|---|---:|")
        for stage in [Stage.shadow, .live] {
            for pause in Self.pauses { try measure(stage, pause) }
        }
    }

    private func measure(_ stage: Stage, _ pause: UInt32) throws {
        let readers = try Self.samples.map { oneIn in
            let users = try RolloutUsers(directory.appendingPathComponent("\(stage.rawValue)-\(pause)-\(oneIn)"))
            let stores = try users.stores { $0.shadowReads.oneIn = oneIn }
            let store = try stores.store(for: "user")
            try fill(store)
            return Reader(oneIn, try users.store(stores, "user", at: stage))
        }
        defer { for reader in readers { reader.store.close() } }
        var figures: [[(p50: Double, p99: Double)]] = []
        for _ in 0..<rounds {
            for reader in readers { reader.times = [] }
            for block in 0..<Self.blocks {
                // The first user of a turn finds the caches as the last one left them.
                for place in readers.indices { try read(readers[(place + block) % readers.count], block, pause) }
            }
            figures.append(readers.map { ($0.percentile(0.5), $0.percentile(0.99)) })
        }
        for (place, reader) in readers.enumerated() {
            let ratios = figures.map { ($0[place].p50 / $0[0].p50, $0[place].p99 / $0[0].p99) }
            let (p50, p99) = (median(figures.map { $0[place].p50 }), median(figures.map { $0[place].p99 }))
            let (ratio50, ratio99) = (median(ratios.map(\.0)), median(ratios.map(\.1)))
            let goal = pause > 0 ? Self.goals[reader.oneIn] : nil
            let cells = [
                stage.rawValue, String(pause), reader.oneIn == 0 ? "none" : "1 in \(reader.oneIn)", decimal(p50, 2),
                decimal(p99, 2),
                decimal(ratio50, 3), decimal(ratio99, 3), goal.map { "≤ \($0)" } ?? "–",
                goal.map { ratio99 <= $0 ? "yes" : "no" } ?? "–", "\(reader.store.shadowReads[.match] ?? 0)",
            ]
            print("| \(cells.joined(separator: " | ")) |")
        }
    }

    private func fill(_ store: UserStore) throws {
        let habits = (0..<Self.habits).map { Habit(id: Self.id($0), name: "Habit \($0)", createdAt: .now, streak: $0) }
        try store.write(author: nil) { transaction in
            for habit in habits { try transaction.insert(habit) }
            for number in 0..<Self.entries {
                let date = Date(timeIntervalSinceReferenceDate: Double(number) * 3_600)
                let habit = habits[number % habits.count].id
                try transaction.insert(
                    Entry(id: Self.id(1_000 + number), date: date, note: "note \(number)", habitID: habit)
                )
            }
        }
    }

    private static func id(_ number: Int) -> UUID {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255)))
    }

    private func read(_ reader: Reader, _ block: Int, _ pause: UInt32) throws {
        let clock = ContinuousClock()
        for number in 0..<Self.block {
            let start = clock.now
            try read(reader.store, block &* Self.block &+ number)
            reader.times.append((clock.now - start) / .microseconds(1))
            if pause > 0 { usleep(pause) }
        }
        // Waits for late comparisons, so that none falls into another user's turn.
        var before = -1
        var total = reader.store.shadowReads.values.reduce(0, +)
        while reader.oneIn > 0, total != before {
            usleep(2_000)
            (before, total) = (total, reader.store.shadowReads.values.reduce(0, +))
        }
    }

    private func read(_ store: UserStore, _ number: Int) throws {
        switch number % 10 {
        case 0..<6:
            let id = Self.id(1_000 + number &* 7_919 % Self.entries)
            guard try store.model(Entry.self, id: id) != nil else { throw BenchError("a record is missing") }
        case 6, 7:
            let filter = FilterExpression.compare(
                .equal,
                .attribute(AttributePath("habitID")),
                .literal(.uuid(Self.id(number % Self.habits)))
            )
            let order = [SortDescriptor(\Entry.date, order: .reverse)]
            let last = try store.fetch(FetchDescriptor<Entry>(filter: filter, sortBy: order, fetchLimit: 20))
            guard last.count == 20 else { throw BenchError("records are missing") }
        case 8:
            let count = try store.fetchCount(FetchDescriptor(predicate: #Predicate<Habit> { $0.streak >= 25 }))
            guard count == 25 else { throw BenchError("the count is \(count)") }
        default:
            let all = try store.fetch(FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.name)]))
            guard all.count == Self.habits else { throw BenchError("habits are missing") }
        }
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    private func decimal(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
}
