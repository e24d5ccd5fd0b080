import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// The progress of a verification, kept in a file so that a killed one can be resumed.
///
/// It is valid only while both stores' files are exactly those that were read: after any write, everything is compared again.
struct Checkpoint: Codable {
    static let currentFormat = 1

    var formatVersion = Self.currentFormat
    /// A digest of the options and of both stores' identities.
    let question: String
    /// The files that were read.
    let stamps: [FileStamp]
    /// The findings so far.
    var report: VerificationReport
    /// The finished levels.
    var finished: [String] = []
    /// How far the contents are compared.
    var contents: ContentsProgress?
    /// Kept digests that were compared, where they differed, and the stores that have none.
    var digests = DigestFindings()

    /// Whether its numbers can be those of a comparison of a schema with so many entities. A file may hold any.
    func isPlausible(entities: Int) -> Bool {
        contents?.isPlausible(entities: entities) ?? true
            && (0...ContentsProgress.greatestCount).contains(digests.compared)
            && (0...ContentsProgress.greatestCount).contains(report.differenceCount)
            && report.levels.allSatisfy {
                (0...ContentsProgress.greatestCount).contains($0.compared)
                    && (0...ContentsProgress.greatestCount).contains($0.differences)
            }
    }
}

/// Findings about the stores' kept digests from comparing contents.
struct DigestFindings: Codable {
    var compared = 0
    var deviations: [StoreDifference] = []
    var storesWithout: Set<String> = []
}

/// The file in which a verification keeps how far it has come.
struct CheckpointFile {
    /// How long ago the stores' last change must be, in seconds, for its time to differ from the next one's.
    private static let restSeconds = 0.05
    /// How often that is waited for.
    private static let looks = 5
    /// The beginning of the file. A file that begins otherwise is not a checkpoint, and is not overwritten.
    private static let heading = Data("HabitStore verification checkpoint\n".utf8)

    private let path: String
    private let stores: [String]
    /// The files' stamps before the stores' snapshots were taken.
    let stamps: [FileStamp]

    /// Stamps the stores' files; nil when they are being written to.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` for a store without a file.
    init?(path: String, stores: [any MaintainableStore]) throws {
        self.path = path
        self.stores = try stores.map { store in
            guard let file = store.path else {
                throw HabitStoreError(
                    .unsupported,
                    "a verification of a store in memory cannot be taken up; leave the checkpoint out"
                )
            }
            return file
        }
        for _ in 0..<Self.looks {
            let found = try self.stores.map { try FileStamp(storeAt: $0) }
            // Two writes within one tick of the file system's clock have the same time.
            let age = Date().timeIntervalSince1970 - (found.map(\.lastChange).max() ?? 0)
            if age > Self.restSeconds || age < 0 {
                stamps = found
                return
            }
            Thread.sleep(forTimeInterval: Self.restSeconds)
        }
        return nil
    }

    /// Whether the stores' files are unchanged since before their snapshots were taken.
    func isCurrent() throws -> Bool { try stores.map { try FileStamp(storeAt: $0) } == stamps }

    /// The checkpoint of an earlier run, and why it cannot be used, if it cannot.
    func load(question: String, entities: Int) throws -> (checkpoint: Checkpoint?, reason: String?) {
        guard FileManager.default.fileExists(atPath: path) else { return (nil, nil) }
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the checkpoint cannot be read",
                at: .init(path: path),
                underlying: error
            )
        }
        guard data.isEmpty || data.starts(with: Self.heading) else {
            throw HabitStoreError(
                .unsupported,
                "there is a file that is not a checkpoint; choose another place for the checkpoint",
                at: .init(path: path)
            )
        }
        let json = data.dropFirst(Self.heading.count)
        guard let checkpoint = try? JSONDecoder().decode(Checkpoint.self, from: json),
            checkpoint.isPlausible(entities: entities)
        else {
            return (nil, "the checkpoint was damaged")
        }
        guard checkpoint.formatVersion == Checkpoint.currentFormat else {
            return (nil, "the checkpoint is of another version")
        }
        guard checkpoint.question == question else {
            return (nil, "the checkpoint is of another comparison")
        }
        guard checkpoint.stamps == stamps else {
            return (nil, "the stores were written to since the checkpoint")
        }
        return (checkpoint, nil)
    }

    /// Replaces the checkpoint atomically; readable only by its owner, since a report may contain values.
    func save(_ checkpoint: Checkpoint) throws {
        do {
            let data = Self.heading + (try JSONEncoder().encode(checkpoint))
            try DurableFile.replace(path, data, draft: path + ".partial")
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the checkpoint cannot be written; choose another place, or continue without one",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    /// Removes what is kept: the verification has ended.
    func remove() throws {
        guard unlink(path) == 0 || errno == ENOENT else {
            throw HabitStoreError(.inputOutput, "the checkpoint cannot be removed", at: .init(path: path))
        }
    }
}

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

extension Comparison {
    /// Everything that a checkpoint must share with this comparison.
    private struct Question: Encodable {
        let sides: [VerificationReport.Side]
        let queries: [QueryFile.Query]
        let expectations: Expectations?
        let showsValues: Bool
        let maximumDifferences: Int
        let ignoreRules: IgnoreRules
        /// Which of the rules have expired.
        let expired: [Bool]
    }

    /// Goes on where an earlier run was interrupted, when it compared the same stores and neither was written to since.
    mutating func takeUp(_ file: CheckpointFile) throws {
        let question = try digest()
        let (found, reason) = try file.load(question: question, entities: schema.entities.count)
        checkpoints = file
        checkpoint = found ?? Checkpoint(question: question, stamps: file.stamps, report: report)
        if let found {
            (report, digests) = (found.report, found.digests)
            let levels = found.finished.joined(separator: ", ")
            report.notes.append("an interrupted verification was taken up; finished before: \(levels)")
        } else if let reason {
            report.notes.append("compared from the beginning: \(reason)")
        }
    }

    private func digest() throws -> String {
        let question = Question(
            sides: [report.a, report.b],
            queries: options.queries,
            expectations: options.expectations,
            showsValues: options.showsValues,
            maximumDifferences: options.maximumDifferences,
            ignoreRules: options.ignoreRules,
            expired: report.ignoreRules.map(\.isExpired)
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let hash = try encoder.encode(question).withUnsafeBytes { XXHash3.hash128($0) }
        return "\(hash.high)-\(hash.low)"
    }
}
