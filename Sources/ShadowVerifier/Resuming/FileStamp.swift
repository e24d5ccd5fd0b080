import Foundation
import HabitStore

/// What tells whether a store's files are still those that were read: which files there are, how long, and when they were
/// last written to.
struct FileStamp: Codable, Equatable {
    private struct File: Codable, Equatable {
        let name: String
        let number: UInt64
        let length: Int64
        let seconds: Int
        let nanoseconds: Int
    }

    private var files: [File] = []

    /// Stamps a store's file and those that belong to it, whose names are its name with a suffix.
    ///
    /// Files that readers write to, locks and SQLite's index of its log, are left out.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if the folder cannot be read.
    init(storeAt path: String) throws {
        let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        let folder = url.deletingLastPathComponent().path
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the store's folder cannot be read",
                at: .init(path: folder),
                underlying: error
            )
        }
        let name = url.lastPathComponent
        for found in names.sorted() where found == name || found == name + "-wal" {
            var status = stat()
            // A file that went away meanwhile is not stamped, which is another stamp.
            guard stat(folder + "/" + found, &status) == 0 else { continue }
            files.append(
                File(
                    name: found,
                    number: UInt64(status.st_ino),
                    length: Int64(status.st_size),
                    seconds: status.changed.tv_sec,
                    nanoseconds: status.changed.tv_nsec
                )
            )
        }
    }

    /// When the last of the files was written to, in seconds since 1970.
    var lastChange: Double {
        files.map { Double($0.seconds) + Double($0.nanoseconds) / 1e9 }.max() ?? 0
    }
}

extension stat {
    #if canImport(Darwin)
    fileprivate var changed: timespec { st_ctimespec }
    #else
    fileprivate var changed: timespec { st_ctim }
    #endif
}
