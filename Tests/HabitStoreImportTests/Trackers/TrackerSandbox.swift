import CSQLite
import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import RawStoreFiles
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// A folder with a source, and a store to import it into.
final class TrackerSandbox {
    let folder: TemporaryFolder
    let store: InMemoryHabitStore
    var options: TrackerImport.Options

    init(timeZone: String = "Europe/Berlin") throws {
        folder = try TemporaryFolder()
        store = try InMemoryHabitStore(schema: HabitSchema.current)
        options = TrackerImport.Options(
            timeZone: try #require(TimeZone(identifier: timeZone)),
            now: Date(timeIntervalSince1970: 1_800_000_000)
        )
    }

    @discardableResult
    func database(_ name: String, _ sql: String) throws -> String {
        let path = folder.path(name)
        try? FileManager.default.removeItem(atPath: path)
        try RawDatabase(path: path).execute(sql)
        return path
    }

    /// Imports a source, and checks that everything in it is somewhere and that the verification agrees.
    @discardableResult
    func run(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> TrackerReport {
        let work = try TrackerImport(path: folder.path(name), options)
        let report = try work.run(into: store, attachmentsIn: folder.path("imports"))
        let verification = try #require(report.verification)
        #expect(verification.isEqual, "\(verification.differences)", sourceLocation: sourceLocation)
        return report
    }

    /// Compares the store with an imported source again.
    func verify(_ name: String, _ report: TrackerReport) throws -> TrackerReport.Verification {
        let path = folder.path(name)
        let finding = try TrackerRecognition.find(path, format: nil)
        let plan = TrackerPlan(try finding.read(path), name: "", timeZone: options.timeZone, now: options.now)
        return try TrackerVerification(finding, path, plan).compare(with: store, options.timeZone, report)
    }

    /// Entries as `name day value note`, sorted.
    func entries() throws -> [String] {
        let names = Dictionary(uniqueKeysWithValues: try store.all(Habit.self).map { ($0.id, $0.name) })
        return try store.all(Entry.self).map { entry in
            let day = LocalDay(containing: entry.date, in: options.timeZone).map(\.description) ?? "?"
            let value = entry.value.map { " \($0)" } ?? ""
            return "\(entry.habitID.flatMap { names[$0] } ?? "-") \(day)\(value)\(entry.note.map { " \($0)" } ?? "")"
        }.sorted()
    }

    func habit(_ name: String) throws -> Habit {
        try #require(try store.all(Habit.self).first { $0.name == name })
    }

    /// The lines of the attachment.
    func attachment(_ report: TrackerReport) throws -> [[String: Any]] {
        let path = try #require(report.attachment)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return try text.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }
}

extension TrackerReport {
    /// How many values are kept under a name.
    func kept(_ name: String) -> Int { kept.first { $0.name == name }?.count ?? 0 }

    /// How often an oddity was found.
    func odd(_ name: String) -> Int { oddities.first { $0.name == name }?.count ?? 0 }
}

extension TrackerSandbox {
    /// Runs `body` while a connection has written to the log without a checkpoint.
    func withOpen(_ name: String, _ connection: inout OpaquePointer?, _ body: () throws -> Void) throws {
        #expect(sqlite3_open(folder.path(name), &connection) == SQLITE_OK)
        defer { sqlite3_close(connection) }
        let sql = "PRAGMA wal_autocheckpoint = 0; INSERT INTO Repetitions (habit, timestamp) VALUES (1, 86400000)"
        #expect(sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK)
        try body()
    }
}
