import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreSQLite
import HabitTracker
import StandardEngines

/// The suite `scale`: the costs of users in one process, from one to the requested number, each number in a separate process. All handles are kept,
/// and
/// the default number of users is open at the same time.
struct ScaleRun {
    /// A small user: a few habits and a month of entries.
    static let habits = 3
    static let entriesEach = 30

    /// The maximum number of users at `live`: each has two stores, and 100,000 of them would take 25 GB.
    private static let mostLiveUsers = 10_000

    private let directory: URL
    private let users: Int
    private let stages: [Stage]

    init(_ directory: URL, users: Int, stages: [Stage] = [.off, .live]) {
        self.directory = directory.appendingPathComponent("scale")
        self.users = users
        self.stages = stages
    }

    func measure() throws {
        print("\nUsers of \(Self.habits) habits and \(Self.habits * Self.entriesEach) entries, all handles kept.\n")
        print(
            "| stage | users | open | first read, p50 ms | p99 | read of an open one, µs | of a random one, p50 µs | p99 µs "
                + "| memory, MiB | for each handle, KiB | SQLite's, MiB | mapped, MiB | files | maps | address space, GiB |"
        )
        print("|---|" + String(repeating: "---:|", count: 14))
        for stage in stages {
            let folder = directory.appendingPathComponent(stage.rawValue)
            let template = try prepare(folder, stage)
            for count in counts(upTo: stage == .off ? users : min(users, Self.mostLiveUsers)) {
                try copy(template, folder, count)
                let row = try ChildProcess.output([ScaleChild.argument, folder.path, String(count)])
                print("| \(stage.rawValue) | \(count.grouped) | \(row) |")
                fflush(nil)
            }
            try FileManager.default.removeItem(at: folder)
        }
    }

    private func counts(upTo users: Int) -> [Int] {
        var counts = Array(sequence(first: 1) { $0 * 10 }.prefix { $0 < users })
        counts.append(users)
        return counts
    }

    /// Moves one user to the stage, and makes the others by copying it.
    private func prepare(_ folder: URL, _ stage: Stage) throws -> String {
        let users = try RolloutUsers(folder)
        let store = try users.stores().store(for: Self.user(0))
        try store.write(author: nil) { transaction in
            for number in 0..<Self.habits {
                let habit = Habit(name: "habit \(number)")
                try transaction.insert(habit)
                for day in 0..<Self.entriesEach {
                    let date = Date(timeIntervalSinceReferenceDate: Double(day) * 86_400)
                    try transaction.insert(Entry(date: date, value: Double(day), habitID: habit.id))
                }
            }
        }
        store.close()
        if stage != .off { try users.store(try users.stores(), Self.user(0), at: stage).close() }
        return try UserDirectory(root: users.root, user: Self.user(0)).path
    }

    private func copy(_ template: String, _ folder: URL, _ count: Int) throws {
        for number in 1..<max(1, count) {
            let user = Self.user(number)
            let path = try UserDirectory(root: folder.path, user: user).path
            guard !FileManager.default.fileExists(atPath: path) else { continue }
            try FileManager.default.copyItem(atPath: template, toPath: path)
            try Data(user.utf8).write(to: URL(fileURLWithPath: path + "/user"))
        }
    }

    static func user(_ number: Int) -> String { "user-\(number)" }
}
