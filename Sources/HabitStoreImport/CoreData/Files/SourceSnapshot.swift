import DurableFiles
import Foundation
import HabitStore

/// A private copy of a database at one moment. The original is read but never opened as a database: opening it could checkpoint and remove
/// its log.
final class SourceSnapshot {
    /// The copy's path.
    let path: String
    /// The state of the original's files when they were copied.
    let stamps: SourceStamps
    /// The header of the main file.
    let header: DatabaseHeader
    private let folder: URL

    private static let tries = 200

    /// Copies the file at a path and its companion files, following a symbolic link.
    ///
    /// - Throws: ``HabitStoreError/Code/notAStore`` if it is not a SQLite database, ``HabitStoreError/Code/busy`` if it is being written to
    ///   without a pause.
    static func ofTarget(of path: String) throws -> (snapshot: SourceSnapshot, path: String) {
        try requireFile(path)
        // Checked before copying: a file that is not a database may have any size.
        _ = try DatabaseHeader(of: path)
        let resolved = try WholeFile.resolved(path)
        return (try SourceSnapshot(of: resolved), resolved)
    }

    /// Copies the main file, its log and its journal.
    private init(of original: String) throws {
        folder = try Self.makeFolder()
        path = folder.appendingPathComponent("source.sqlite").path
        do {
            stamps = try Self.copy(original, to: path)
            header = try DatabaseHeader(of: path, original: original)
        } catch {
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Unlinks the copy; a connection that has it open can still read it. So a killed process leaves no copy.
    func hide() {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
    }

    /// A path for a file that is removed with the copy, even if this process is killed.
    func scratchPath(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// Removes one of the copied files, so that SQLite does not read it.
    func leaveOut(_ suffix: String) throws {
        do {
            try FileManager.default.removeItem(atPath: path + suffix)
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the private copy cannot be changed",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    private static func requireFile(_ path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let denied = errno == EACCES
            throw HabitStoreError(
                denied ? .permissionDenied : .notFound,
                denied ? "the file cannot be reached" : "there is no file here",
                at: .init(path: path)
            )
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw HabitStoreError(
                .notAStore,
                "not a regular file; name the database's main file",
                at: .init(path: path)
            )
        }
    }

    private static let folderPrefix = "habitstore-source-"

    private static func makeFolder() throws -> URL {
        removeAbandoned()
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("\(folderPrefix)\(getpid())-\(UUID().uuidString)")
        try PrivateFolder.make(folder.path, isNew: true, or: .inputOutput, "no folder for a private copy can be made")
        return folder
    }

    private static func copy(_ original: String, to path: String) throws -> SourceStamps {
        for attempt in 0..<tries {
            if attempt > 0 { Thread.sleep(forTimeInterval: 0.02) }
            guard let before = SourceStamps(original), before.isAtRest else { continue }
            try copyFile(original, to: path)
            for (suffix, stamp) in [("-journal", before.journal), ("-wal", before.log)] {
                try? FileManager.default.removeItem(atPath: path + suffix)
                if stamp != nil { try copyFile(original + suffix, to: path + suffix, mayBeMissing: true) }
            }
            if let after = SourceStamps(original), after.allowsCopy(before: before) { return before }
        }
        throw HabitStoreError(
            .busy,
            "the file is being written to without a pause, so that no copy of one moment can be made",
            at: .init(path: original)
        )
    }

    private static func copyFile(_ original: String, to path: String, mayBeMissing: Bool = false) throws {
        do {
            try FileCopy.copy(original, to: path)
        } catch let failure as FileFailure {
            if mayBeMissing, failure.path == original, failure.number == ENOENT { return }
            throw HabitStoreError.system(failure, failure.path == original ? "the file" : "the private copy")
        }
    }

    /// Removes the copies left by killed processes: they contain personal records.
    private static func removeAbandoned() {
        let parent = FileManager.default.temporaryDirectory
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: parent.path) else { return }
        for name in names where name.hasPrefix(folderPrefix) {
            let number = name.dropFirst(folderPrefix.count).prefix { $0 != "-" }
            guard let process = pid_t(number), process > 0, kill(process, 0) != 0, errno == ESRCH else { continue }
            try? FileManager.default.removeItem(at: parent.appendingPathComponent(name))
        }
    }
}
