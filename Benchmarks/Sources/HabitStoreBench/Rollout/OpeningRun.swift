import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker

/// The suite `openings`: the cost of opening a user's store, compared with opening the stores below it.
///
/// At each stage it opens a user and reads a record, then does the same with each store that the stage uses; in turn, and compares measurements that
/// follow each other. Closing is measured separately.
struct OpeningRun {
    private static let repetitions = 200
    /// The allowed time of a user's store in excess of the sum of its engines.
    private static let goalMicroseconds = 50.0

    private let users: RolloutUsers
    private let rounds: Int

    init(_ directory: URL, rounds: Int) throws {
        users = try RolloutUsers(directory.appendingPathComponent("openings"))
        self.rounds = rounds
    }

    func measure() throws {
        print("\nOpening a user and reading a record: \(rounds) rounds of \(Self.repetitions) in turn; medians.\n")
        print(
            "| stage | stores | open stores alone, µs | user, µs | difference, µs | goal | met | close stores, µs | user, µs |"
        )
        print("|---|---|---:|---:|---:|---:|---|---:|---:|")
        for stage in Stage.allCases { print(try row(stage)) }
    }

    private func row(_ stage: Stage) throws -> String {
        let stores = try users.stores()
        let habit = Habit(name: "Run")
        let store = try stores.store(for: stage.rawValue)
        try store.save(habit)
        try users.store(stores, stage.rawValue, at: stage).close()
        let current = try stores.currentAddress(of: stage.rawValue)
        let usesBoth = stage.mirror != nil || stage.shadow != nil
        let addresses = [current] + (usesBoth ? [try stores.addresses(of: stage.rawValue).other] : [])
        let (bare, user) = (Times(), Times())
        for _ in 0..<rounds * Self.repetitions {
            try bare.measure {
                try addresses.map { try $0.open(.readWrite, schema: HabitSchema.current) }
            } reading: { stores in
                try stores[0].model(Habit.self, id: habit.id)
            } closing: { stores in
                for store in stores { store.close() }
            }
            try user.measure {
                try stores.store(for: stage.rawValue)
            } reading: { store in
                try store.model(Habit.self, id: habit.id)
            } closing: { store in
                store.close()
            }
        }
        let over = Times.median(zip(user.opening, bare.opening).map { $0 - $1 })
        let cells = [
            stage.rawValue, addresses.map(\.engine.rawValue).joined(separator: ", "),
            Self.text(Times.median(bare.opening)),
            Self.text(Times.median(user.opening)), Self.text(over), "≤ \(Int(Self.goalMicroseconds))",
            over <= Self.goalMicroseconds ? "yes" : "no", Self.text(Times.median(bare.closing)),
            Self.text(Times.median(user.closing)),
        ]
        return "| \(cells.joined(separator: " | ")) |"
    }

    private static func text(_ value: Double) -> String { String(format: "%.1f", value) }
}

/// The opening and closing times of one side, in microseconds.
private final class Times {
    private(set) var opening: [Double] = []
    private(set) var closing: [Double] = []

    func measure<Opened>(
        _ open: () throws -> Opened,
        reading: (Opened) throws -> Habit?,
        closing close: (Opened) -> Void
    ) throws {
        let start = ContinuousClock.now
        let opened = try open()
        guard try reading(opened) != nil else { throw BenchError("a record is missing") }
        let end = ContinuousClock.now
        opening.append((end - start) / .microseconds(1))
        close(opened)
        closing.append((ContinuousClock.now - end) / .microseconds(1))
    }

    static func median(_ times: [Double]) -> Double { times.sorted()[times.count / 2] }
}
