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

/// The state of a database's files: the main file, its log and its rollback journal.
struct SourceStamps: Equatable {
    let main: FileStamp
    let log: FileStamp?
    let journal: FileStamp?
    /// The header of the log; a log that has started over has other salts.
    let logHeader: Data
    /// Whether the log, too, was last written longer ago than the clock's resolution.
    let isLogAtRest: Bool

    /// Nil if there is no file at the path.
    init?(_ path: String) {
        guard let main = FileStamp(path) else { return nil }
        self.main = main
        log = FileStamp(path + "-wal")
        journal = FileStamp(path + "-journal")
        logHeader = Self.head(of: path + "-wal")
        isLogAtRest = log?.isAtRest ?? true
    }

    /// The state of the files of the database that a path leads to; nil if there is none.
    init?(following path: String) {
        guard let resolved = try? WholeFile.resolved(path) else { return nil }
        self.init(resolved)
    }

    /// The state as text, which changes with each write. An empty log counts as none.
    var text: String {
        let head = logHeader.map { String(format: "%02x", $0) }.joined()
        return [main.text, log.flatMap { $0.size > 0 ? $0.text : nil } ?? "", journal?.text ?? "", head].joined(
            separator: "/"
        )
    }

    private static func head(of path: String) -> Data {
        guard let file = FileHandle(forReadingAtPath: path) else { return Data() }
        defer { try? file.close() }
        return (try? file.read(upToCount: WriteAheadLog.headerSize)) ?? Data()
    }

    /// Whether a copy made between the two stamps is consistent. The log may have grown: frames appended after the copied part are ignored.
    func allowsCopy(before: SourceStamps) -> Bool {
        main == before.main && journal == before.journal && logHeader == before.logHeader
            && (log?.inode == before.log?.inode) && (log?.size ?? 0) >= (before.log?.size ?? 0)
    }

    /// Whether the main file was last written longer ago than the clock's resolution, so that an unchanged time means unchanged bytes.
    var isAtRest: Bool { main.isAtRest }
}

/// A `stat` fingerprint of a file's state.
struct FileStamp: Equatable {
    let size: Int64
    let modified: timespec
    let inode: UInt64

    /// Nil if there is no file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        size = Int64(status.st_size)
        inode = UInt64(status.st_ino)
        #if canImport(Darwin)
        modified = status.st_mtimespec
        #else
        modified = status.st_mtim
        #endif
    }

    /// Whether it was last written longer ago than the clock's resolution.
    var isAtRest: Bool { !(0..<0.03).contains(ageSeconds) }

    /// All of it as text.
    var text: String { "\(inode) \(size) \(modified.tv_sec) \(modified.tv_nsec)" }

    /// Seconds since the last write, as far as the clock can be trusted.
    var ageSeconds: Double {
        Date().timeIntervalSince1970 - Double(modified.tv_sec) - Double(modified.tv_nsec) / 1e9
    }

    static func == (left: FileStamp, right: FileStamp) -> Bool {
        left.size == right.size && left.inode == right.inode && left.modified.tv_sec == right.modified.tv_sec
            && left.modified.tv_nsec == right.modified.tv_nsec
    }
}

/// The header of a SQLite database (SQLite's file format, section 1.3).
package struct DatabaseHeader {
    private let bytes: [UInt8]

    /// The first bytes of every SQLite database.
    package static let magic = Array("SQLite format 3\0".utf8)
    private static let size = 100

    /// Reads the header of a file.
    ///
    /// - Parameter original: the path that errors name; nil for `file`.
    /// - Throws: ``HabitStoreError/Code/notAStore`` if the file is not a SQLite database.
    init(of file: String, original: String? = nil) throws {
        let path = original ?? file
        guard access(file, R_OK) == 0 else { throw HabitStoreError.system(errno, "the file cannot be read", path) }
        bytes = Self.head(of: file, Self.size)
        guard bytes.count == Self.size else {
            let what = bytes.isEmpty ? "the file is empty" : "the file is shorter than the header of a database"
            throw HabitStoreError(.notAStore, what, at: .init(path: path))
        }
        guard bytes.starts(with: Self.magic) else {
            throw HabitStoreError(
                .notAStore,
                "the file is not a SQLite database, or it is encrypted",
                at: .init(path: path)
            )
        }
    }

    /// The size of a page in bytes.
    var pageSize: Int {
        let stated = Int(bytes[16]) << 8 | Int(bytes[17])
        return stated == 1 ? 65_536 : stated
    }

    /// Whether commits go to a write-ahead log.
    var usesLog: Bool { bytes[18] == 2 }

    /// The number of pages; nil if the last writer did not record it, so that the file's length decides.
    var pageCount: Int? {
        let count = word(28)
        return bytes[24..<28].elementsEqual(bytes[92..<96]) && pageSize >= 512 && count > 0 ? Int(count) : nil
    }

    /// Counts changes to the file.
    var changeCounter: UInt32 { word(24) }

    /// Counts changes to the schema.
    var schemaCounter: UInt32 { word(40) }

    private func word(_ offset: Int) -> UInt32 { bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) } }

    /// Whether a file is a SQLite database, by its first bytes.
    package static func isDatabase(_ path: String) -> Bool { head(of: path, magic.count) == magic }

    /// The first bytes of a file; fewer if the file is shorter.
    package static func head(of path: String, _ count: Int) -> [UInt8] {
        guard let file = FileHandle(forReadingAtPath: path) else { return [] }
        defer { try? file.close() }
        return Array((try? file.read(upToCount: count)) ?? Data())
    }
}
