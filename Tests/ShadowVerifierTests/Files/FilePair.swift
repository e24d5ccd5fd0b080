import CSQLite
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker

@testable import ShadowVerifier

/// A store on SQLite and its copy on LMDB, in a separate folder.
final class FilePair {
    let folder: URL
    private(set) var sqlite: SQLiteHabitStore
    private(set) var lmdb: LMDBHabitStore

    var checkpoint: String { folder.appendingPathComponent("checkpoint").path }

    /// Stores with `count` drafts and as many entries of one habit.
    init(drafts count: Int) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("file-pair-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        sqlite = try SQLiteHabitStore(path: folder.appendingPathComponent("a.sqlite").path, schema: HabitSchema.current)
        lmdb = try LMDBHabitStore(path: folder.appendingPathComponent("b.lmdb").path, schema: HabitSchema.current)
        let habit = Habit(name: "Run")
        try sqlite.write(author: "test") { transaction in
            try transaction.insert(habit)
            for number in 0..<count {
                try transaction.insert(Draft(content: "\(number)"))
                try transaction.insert(Entry(value: Double(number), habitID: habit.id))
            }
        }
        try sqlite.replicaRead { from in
            try lmdb.replicate { to in
                for entity in sqlite.schema.entities.indices {
                    try from.enumerate(entity: entity, after: nil) { id, record in
                        try to.put(entity: entity, id: id, record)
                        return true
                    }
                }
                try to.adopt(lineage: try from.information().lineage, floor: .zero)
                try from.enumerateHistory(after: .zero) {
                    try to.append($0)
                    return true
                }
            }
        }
    }

    deinit {
        close()
        try? FileManager.default.removeItem(at: folder)
    }

    func close() {
        sqlite.close()
        lmdb.close()
    }

    /// Reopens both read-only, as a verification does.
    func openForReading() throws {
        close()
        sqlite = try SQLiteHabitStore(
            path: folder.appendingPathComponent("a.sqlite").path,
            schema: HabitSchema.current,
            options: .init(isReadOnly: true)
        )
        lmdb = try LMDBHabitStore(
            path: folder.appendingPathComponent("b.lmdb").path,
            schema: HabitSchema.current,
            options: .init(isReadOnly: true)
        )
    }

    func drafts() throws -> [Draft] { try sqlite.all(Draft.self) }

    /// Stores a draft in the LMDB store through a replication transaction: outside the history, with its digests.
    func put(_ draft: Draft) throws {
        let values: [Value] = [.uuid(draft.id), .string(draft.content), .date(draft.creationDate), .strings([])]
        try lmdb.replicate { try $0.put(entity: 3, id: draft.id, EncodedRecord(values, layout: Draft.entity.layout)) }
    }

    /// Runs SQL on the SQLite file as any other program may: outside the store's transactions.
    func runSQL(_ sql: String) throws {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        guard sqlite3_open(folder.appendingPathComponent("a.sqlite").path, &database) == SQLITE_OK,
            sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK
        else { throw HabitStoreError(.inputOutput, "the SQL could not be run") }
    }

    func verify(
        _ depth: VerificationDepth = .full,
        configure: (inout VerificationOptions) -> Void = { _ in },
        progress: (ShadowVerifier.Progress) throws -> Void = { _ in }
    ) throws -> VerificationReport {
        var options = VerificationOptions()
        options.depth = depth
        configure(&options)
        return try ShadowVerifier(.init(name: "A", store: sqlite), .init(name: "B", store: lmdb), options: options)
            .run(progress: progress)
    }
}
