import DurableFiles
import Foundation
import HabitStore

/// The paths of a user's backups: `backups.jsonl` in the user's folder, one line each, so that an erasure finds them. A line is written before any
/// other part of the backup.
struct BackupList {
    /// A backup that was begun.
    struct Entry: Codable, Hashable {
        /// The backup's folder.
        let path: String
        /// The folder in which it is being made; nil for a finished backup that the user was restored from.
        let draft: String?
    }

    static let fileName = "backups.jsonl"
    private static let lockWaitSeconds = 10.0

    private let path: String

    init(_ directory: UserDirectory) { path = directory.path + "/" + Self.fileName }

    /// All backups, the oldest first. Invalid lines are skipped, and stay in the file.
    func entries() throws -> [Entry] {
        try lines().compactMap { try? JSONDecoder().decode(Entry.self, from: $0) }
    }

    /// Adds a backup, unless it is in the list.
    func add(_ entry: Entry) throws {
        try change { lines in
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let line = try encoder.encode(entry)
            if !lines.contains(line) { lines.append(line) }
        }
    }

    /// Removes a backup that failed.
    func remove(_ entry: Entry) throws {
        try change { lines in
            lines.removeAll { (try? JSONDecoder().decode(Entry.self, from: $0)) == entry }
        }
    }

    private func change(_ body: (inout [Data]) throws -> Void) throws {
        let lock = try FileLock(path: path + ".lock", timeoutSeconds: Self.lockWaitSeconds)
        defer { withExtendedLifetime(lock) {} }
        var lines = try lines()
        try body(&lines)
        do {
            try DurableFile.replace(path, Data(lines.map { $0 + Data("\n".utf8) }.joined()))
        } catch {
            throw HabitStoreError(
                error.number == ENOENT ? .notFound : .inputOutput,
                "the list of the user's backups \(error)",
                at: .init(path: path)
            )
        }
    }

    private func lines() throws -> [Data] {
        guard KeptFiles.exists(path) else { return [] }
        return try KeptFiles.contents(path).split(separator: UInt8(ascii: "\n")).map { Data($0) }
    }
}
