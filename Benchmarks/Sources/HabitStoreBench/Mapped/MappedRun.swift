import Foundation
import GRDB
import HabitStore
import HabitStoreImport
import HabitStoreMapped
import HabitStoreSQLite
import Synchronization

/// The suite `mapped`: what an app's own code pays for the triggers in an adopted file, and what adopting and importing a large file take.
struct MappedRun {
    private static let bulk = 200_000
    private static let commits = 200
    private static let habits = 200

    private let directory: URL
    private let rounds: Int
    private let rows: Int

    init(_ directory: URL, rounds: Int, rows: Int) {
        self.directory = directory.appendingPathComponent("mapped")
        (self.rounds, self.rows) = (rounds, rows)
    }

    private static let tables = """
        CREATE TABLE habit (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE entry (id INTEGER PRIMARY KEY, date TEXT NOT NULL, note TEXT, value REAL, habit_id INTEGER REFERENCES habit (id));
        CREATE INDEX entry_habit ON entry (habit_id, date);
        """

    private static let mapping = """
        {"format": 2, "tables": [
          {"table": "habit", "entity": "PlainHabit", "attributes": {"name": "name"}},
          {"table": "entry", "entity": "PlainEntry",
           "attributes": {"date": {"column": "date", "form": "date grdb"}, "note": "note", "value": "value"},
           "relationships": {"habit": "habit_id"}}
        ]}
        """

    func measure() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try measureTriggers()
        try measureWhole()
    }

    // MARK: The app's code

    private func opened(_ name: String, isAdopted: Bool) throws -> DatabaseQueue {
        let path = directory.appendingPathComponent(name).path
        var configuration = Configuration()
        configuration.journalMode = .wal
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.write { database in
            try database.execute(sql: Self.tables)
            for number in 1...Self.habits {
                try database.execute(sql: "INSERT INTO habit VALUES (?, ?)", arguments: [number, "Habit \(number)"])
            }
        }
        guard isAdopted else { return queue }
        try MappedSQLiteStore.adopt(path, mapping: try mapping, schema: PlainEntry.schema)
        return queue
    }

    private var mapping: TableMapping { get throws { try TableMapping(parsing: Data(Self.mapping.utf8)) } }

    private func insert(_ number: Int, _ database: Database) throws {
        let day = number % 28 + 1
        try database.cachedStatement(sql: "INSERT INTO entry (date, note, value, habit_id) VALUES (?, ?, ?, ?)")
            .execute(
                arguments: [
                    "2024-05-\(day < 10 ? "0" : "")\(day) 08:00:00.000", number % 3 == 0 ? "day \(number)" : nil,
                    Double(number % 100), number % Self.habits + 1,
                ]
            )
    }

    private func measureTriggers() throws {
        var times: [String: [Double]] = [:]
        for round in 0..<rounds {
            for isAdopted in [false, true] {
                let name = isAdopted ? "adopted" : "plain"
                let queue = try opened("\(name)-\(round)", isAdopted: isAdopted)
                times["bulk \(name)", default: []].append(
                    try milliseconds {
                        try queue.write { database in
                            for number in 0..<Self.bulk { try insert(number, database) }
                        }
                    }
                )
                for number in 0..<Self.commits {
                    times["commit \(name)", default: []].append(
                        try milliseconds { try queue.write { try insert(number, $0) } }
                    )
                }
                try queue.close()
            }
        }
        print(
            "\nGRDB in a file with the store's triggers, compared with one without; medians of \(rounds) rounds, ms.\n"
        )
        print("| work | without | with | ratio | goal | met |")
        print("|---|---:|---:|---:|---|---|")
        for (work, title, goal) in [
            ("bulk", "\(Self.bulk.grouped) rows in one transaction", 1.3), ("commit", "a transaction of one row", 1.5),
        ] {
            let (without, with) = (times["\(work) plain"]?.median ?? .nan, times["\(work) adopted"]?.median ?? .nan)
            let ratio = with / without
            print(
                "| \(title) | \(text(without)) | \(text(with)) | \(text(ratio)) | ≤ \(goal) | \(ratio <= goal ? "yes" : "no") |"
            )
        }
    }

    // MARK: A large file

    private func measureWhole() throws {
        let queue = try opened("large", isAdopted: false)
        try queue.write { database in
            for number in 0..<rows { try insert(number, database) }
        }
        try queue.close()
        let path = directory.appendingPathComponent("large").path
        print("\nA file of \(rows.grouped) rows.\n\n| work | seconds | private memory more, MiB | goal | met |")
        print("|---|---:|---:|---|---|")
        let imported = try peak {
            let work = try TableImport(try TableFile(path: path), try mapping, schema: PlainEntry.schema)
            let store = try SQLiteHabitStore(
                path: directory.appendingPathComponent("imported.sqlite").path,
                schema: PlainEntry.schema
            )
            defer { store.close() }
            let report = try work.fill(store, notes: store.path ?? "")
            guard report.isVerified else { throw BenchError("the import is not verified") }
        }
        show("importing it by a mapping, and verifying", imported, seconds: nil)
        let adopted = try peak {
            _ = try MappedSQLiteStore.adopt(path, mapping: try mapping, schema: PlainEntry.schema)
        }
        show("adopting it", adopted, seconds: 10)
    }

    private func show(_ work: String, _ figures: (seconds: Double, megabytes: Double), seconds goal: Double?) {
        let isMet = figures.seconds <= goal ?? .infinity && figures.megabytes <= 64
        let words = (goal.map { "≤ \(Int($0)) s, " } ?? "") + "≤ 64 MiB"
        print(
            "| \(work) | \(text(figures.seconds)) | \(text(figures.megabytes)) | \(words) | \(isMet ? "yes" : "no") |"
        )
    }

    /// How long it takes, and how much private memory the process has more than before.
    private func peak(_ body: () throws -> Void) throws -> (seconds: Double, megabytes: Double) {
        let before = ProcessFigures().ownBytes
        let state = Mutex((isEnded: false, bytes: before))
        let watch = Thread {
            while true {
                let now = ProcessFigures().ownBytes
                let isEnded = state.withLock { state in
                    state.bytes = max(state.bytes, now)
                    return state.isEnded
                }
                if isEnded { return }
                usleep(10_000)
            }
        }
        watch.start()
        defer { state.withLock { $0.isEnded = true } }
        let time = try milliseconds(body)
        return (time / 1_000, (state.withLock { $0.bytes } - before) / 1_048_576)
    }

    private func milliseconds(_ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return (ContinuousClock.now - start) / .milliseconds(1)
    }

    private func text(_ number: Double) -> String { String(format: "%.2f", number) }
}
