import DurableFiles
import Foundation
import HabitStore

/// A private copy of a database at one moment. The original's files are read and never opened as a database: opening can
/// bring the log into the main file and remove it.
final class SourceSnapshot {
    /// The copy's path.
    let path: String
    /// The state of the original's files that was copied.
    let stamps: SourceStamps
    /// The header of the main file.
    let header: DatabaseHeader
    private let folder: URL

    private static let tries = 200

    /// The copy of the file that a path leads to, where it is a symbolic link, with what lies beside that file.
    ///
    /// - Throws: ``HabitStoreError/Code/notAStore`` for what is not a SQLite database, ``HabitStoreError/Code/busy`` when it is
    ///   being written to without a pause.
    static func ofTarget(of path: String) throws -> (snapshot: SourceSnapshot, path: String) {
        try requireFile(path)
        // Before anything is copied: what is not a database may be of any length.
        _ = try DatabaseHeader(of: path)
        let resolved = try WholeFile.resolved(path)
        return (try SourceSnapshot(of: resolved), resolved)
    }

    /// Copies the main file, and of the files beside it the ones that are asked for.
    ///
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

    /// Takes the copy's names away, while whoever has opened it goes on reading: nothing of it is left behind by a process
    /// that is killed.
    func hide() {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
    }

    /// A path for something that is to be gone when the copy is, also when this process is killed.
    func scratchPath(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// Removes one of the copied files, so that it is not read.
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
            throw HabitStoreError(.notAStore, "this is no file; name the database's main file", at: .init(path: path))
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

    /// Removes the copies of processes that were killed: they hold a person's records.
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
