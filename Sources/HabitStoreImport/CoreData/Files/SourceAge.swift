import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import Hashing

/// Tells a state of a Core Data file from an earlier one, by numbers that only grow and by the files themselves.
///
/// Core Data never reuses a key, so the number of records up to a given key can only fall; it counts the saves of each record; and it
/// numbers the transactions of its history. If none of these moved, the main file may still be the earlier one without its log.
struct SourceAge: Codable, Hashable, Sendable {
    /// The counts of one table.
    struct Table: Codable, Hashable, Sendable {
        /// The highest key ever assigned, according to the file.
        let highestKey: Int64
        /// The highest key known at that time, from the records or the file.
        let knownKey: Int64
        /// The number of records.
        let rows: Int64
        /// The number of saves of all records.
        let saves: Int64
    }

    let tables: [String: Table]
    /// The highest transaction number that the history ever had; nil without a history.
    let transaction: Int64?
    /// The first half of the main file's SHA-256.
    let mainFile: String
    /// The number of log frames read and the salts of the log; nil if there was no log.
    let frames: Int?
    let salts: String?

    init(_ connection: SourceConnection, _ tables: StoreTables, _ transaction: Int64?, _ opening: SourceOpening) throws
    {
        var found: [String: Table] = [:]
        for root in tables.entities where root.superentity == 0 {
            guard let table = tables.table(of: root.name), tables.has("Z_PK", in: table) else { continue }
            let saves = tables.has("Z_OPT", in: table) ? "CAST(total(Z_OPT) AS INTEGER)" : "0"
            let row = try connection.prepare(
                "SELECT count(*), coalesce(max(Z_PK), 0), \(saves) FROM \(SourceConnection.quoted(table))"
            )
            guard try row.step() else { continue }
            found[table] = Table(
                highestKey: root.highestKey,
                knownKey: max(root.highestKey, row.optionalInt(1) ?? 0),
                rows: row.optionalInt(0) ?? 0,
                saves: row.optionalInt(2) ?? 0
            )
        }
        self.tables = found
        // Pruning removes the transactions but not the number of the last one.
        let stated = try connection.int(
            "SELECT max(Z_MAX) FROM Z_PRIMARYKEY WHERE Z_ENT >= 16000 AND Z_NAME = 'TRANSACTION'"
        )
        self.transaction = transaction.map { max($0, stated ?? 0) }
        mainFile = try Self.digest(of: opening.snapshot)
        frames = opening.readLog?.committedFrames
        salts = opening.readLog.map { $0.salts }
    }

    /// The reason why this state is earlier than another; nil if nothing proves it.
    ///
    /// - Parameter connection: the database of this state.
    func sign(ofBeingOlderThan other: SourceAge, _ connection: SourceConnection) throws -> String? {
        if let last = other.transaction {
            let here = transaction ?? 0
            // The history is the best evidence: a state with more of it is later.
            if here > last { return nil }
            if here < last { return "its history ends at transaction \(here), and transaction \(last) was imported" }
        }
        for (name, then) in other.tables.sorted(by: { $0.key < $1.key }) {
            guard let now = tables[name] else { continue }
            if now.highestKey < then.highestKey {
                return "the highest key of \(name) is \(now.highestKey), and was \(then.highestKey)"
            }
            let known = try connection.int(
                "SELECT count(*) FROM \(SourceConnection.quoted(name)) WHERE Z_PK <= \(then.knownKey)"
            )
            if let known, known > then.rows {
                return "\(known - then.rows) records of \(name) are back that were deleted when it was imported last"
            }
            if known == then.rows, now.saves < then.saves {
                return
                    "the records of \(name) were saved \(now.saves) times, and \(then.saves) times when it was imported last"
            }
        }
        return withoutItsLog(other)
            ? "the file is the one that was imported last, but its -wal is missing or shorter than it was then"
            : nil
    }

    /// Whether the main file is unchanged and log frames that were read then are missing now.
    private func withoutItsLog(_ other: SourceAge) -> Bool {
        guard mainFile == other.mainFile, let read = other.frames, read > 0 else { return false }
        guard let frames, salts == other.salts else { return frames == nil }
        return frames < read
    }

    /// A hash of the main file's pages; bytes after the last page are not part of the database.
    private static func digest(of snapshot: SourceSnapshot) throws -> String {
        let length = snapshot.header.pageCount.map { off_t($0 * snapshot.header.pageSize) } ?? .max
        var hash = SHA256()
        try FileFailure.told {
            try OpenFile(snapshot.path, O_RDONLY).forEachChunk(in: 0..<length) { chunk, _ in
                hash.update(bufferPointer: chunk)
                return true
            }
        }
        return hash.finalize().prefix(16).hexadecimal
    }
}
