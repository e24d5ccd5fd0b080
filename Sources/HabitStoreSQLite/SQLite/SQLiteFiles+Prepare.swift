import Foundation
@_spi(Engines) import HabitStore

extension SQLiteFiles {
    /// Makes sure that SQLite can safely open the file, and returns its path and status.
    ///
    /// SQLite treats an empty file as a new database, and deletes a log next to an empty or missing file. Both would silently turn
    /// a lost file into lost records, so they are rejected here.
    static func prepare(
        _ path: String,
        mode: SQLiteOpenMode
    ) throws -> (path: String, status: SQLiteFileStatus) {
        let canonical = try canonicalPath(path)
        if let status = try status(of: canonical) {
            return (canonical, try checked(status, path: canonical, mode: mode))
        }
        let orphan = try orphanedLog(of: canonical)
        guard mode == .create else {
            throw HabitStoreError(
                .notFound,
                "there is no file at this path" + (orphan == nil ? "" : ", but its log is there; restore the file"),
                at: HabitStoreError.Location(path: canonical)
            )
        }
        if let orphan { throw orphanError(orphan) }
        do {
            try create(canonical)
        } catch let error as HabitStoreError {
            // If another thread or process has created it meanwhile, that is just as good.
            guard try self.status(of: canonical) != nil else {
                guard (error.underlying as? POSIXError)?.code == .EEXIST else { throw error }
                throw HabitStoreError(
                    .notFound,
                    "the file cannot be made; is it a link to a file that is missing?",
                    at: HabitStoreError.Location(path: canonical)
                )
            }
        }
        guard let status = try status(of: canonical) else {
            throw HabitStoreError(
                .notFound,
                "the file vanished while it was created; check what else uses the folder",
                at: HabitStoreError.Location(path: canonical)
            )
        }
        return (canonical, try checked(status, path: canonical, mode: mode))
    }

    private static func checked(
        _ status: SQLiteFileStatus,
        path: String,
        mode: SQLiteOpenMode
    ) throws -> SQLiteFileStatus {
        let location = HabitStoreError.Location(path: path)
        switch status.kind {
        case .regular: break
        case .directory: throw HabitStoreError(.notAStore, "the path is a folder; name the file", at: location)
        case .other: throw HabitStoreError(.notAStore, "the path is not a plain file; name a file", at: location)
        }
        guard status.sizeBytes == 0 else { return status }
        if let orphan = try orphanedLog(of: path) {
            // The log is examined after the file: another process may have filled both in between.
            if let now = try self.status(of: path), now.sizeBytes > 0 { return now }
            throw orphanError(orphan)
        }
        guard mode == .create else {
            throw HabitStoreError(.notAStore, "the file is empty; it was never a store", at: location)
        }
        return status
    }

    private static func orphanedLog(of path: String) throws -> String? {
        let log = path + "-wal"
        return try sizeBytes(of: log) > 0 ? log : nil
    }

    private static func orphanError(_ log: String) -> HabitStoreError {
        HabitStoreError.damage(
            "this log holds records whose database file is empty or missing; restore that file, or move the log away",
            at: HabitStoreError.Location(path: log)
        )
    }
}
