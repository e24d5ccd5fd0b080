import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitStoreTesting
import HabitTracker
import RawStoreFiles

@testable import ShadowVerifier

/// A store on SQLite and its copy on LMDB, in a separate folder.
final class FilePair {
    private let temporary: TemporaryFolder
    var folder: URL { temporary.url }
    private(set) var sqlite: SQLiteHabitStore
    private(set) var lmdb: LMDBHabitStore

    var checkpoint: String { temporary.path("checkpoint") }

    /// Stores with `count` drafts and as many entries of one habit.
    init(drafts count: Int) throws {
        temporary = try TemporaryFolder()
        sqlite = try SQLiteHabitStore(path: temporary.path("a.sqlite"), schema: HabitSchema.current)
        lmdb = try LMDBHabitStore(path: temporary.path("b.lmdb"), schema: HabitSchema.current)
        let habit = Habit(name: "Run")
        try sqlite.write(author: "test") { transaction in
            try transaction.insert(habit)
            for number in 0..<count {
                try transaction.insert(Draft(content: "\(number)"))
                try transaction.insert(Entry(value: Double(number), habitID: habit.id))
            }
        }
        try sqlite.copyContents(to: lmdb)
    }

    deinit { close() }

    func close() {
        sqlite.close()
        lmdb.close()
    }

    /// Reopens both read-only, as a verification does.
    func openForReading() throws {
        close()
        sqlite = try SQLiteHabitStore(
            path: temporary.path("a.sqlite"),
            schema: HabitSchema.current,
            options: .init(isReadOnly: true)
        )
        lmdb = try LMDBHabitStore(
            path: temporary.path("b.lmdb"),
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
        let database = try RawDatabase(path: temporary.path("a.sqlite"))
        defer { database.close() }
        try database.execute(sql)
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
