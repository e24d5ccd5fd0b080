import DurableFiles
import Foundation
import HabitStore

/// What the launches of an app with ``FirstLaunch`` came to: a JSON file next to the old one (`schemas/launch-record.schema.json`). Of the file's
/// contents it has keys of rows at most, in a ``Reason``.
public struct LaunchRecord: Sendable, Hashable, Codable {
    /// How far the way from the old file to the store is.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// The old file serves.
        case waiting
        /// The store has everything, and is about to take effect.
        case finishing
        /// The store serves.
        case moved
    }

    /// Why a launch left the user with the old file.
    public struct Reason: Sendable, Hashable, Codable {
        /// The code of the error, such as `busy`.
        public let code: String
        /// One sentence, with the path that it is about.
        public let message: String

        init(_ error: any Error) {
            code = (error as? HabitStoreError)?.code.rawValue ?? "other"
            message = (error as? HabitStoreError)?.description ?? "\(error)"
        }
    }

    /// The state of the old file and of the store when that took over.
    struct Source: Sendable, Hashable, Codable {
        /// The lineage of the store; nil if it serves the old file in place.
        var store: UUID?
        /// SHA-256 of the rows that were imported, in hexadecimal; nil if there were none to import.
        var digest: String?
        /// The state of the file's metadata, by which an unchanged file is recognized without reading it.
        var stamp: String?
        /// SHA-256 of the mapping by which the rows were chosen, in hexadecimal.
        var mapping: String?
        /// When the store was filled, in seconds since 2001, as its history has it; nil if the rows were merged into it.
        var filled: Double?
    }

    /// The newest version of the format.
    public static let format = 1

    /// The version of the format.
    public private(set) var format = Self.format
    /// The path of the old file.
    public let file: String
    /// Which of both serves.
    public internal(set) var state = State.waiting
    /// How many launches have tried; an attempt that was killed counts.
    public internal(set) var attempts = 0
    /// When the first one began.
    public internal(set) var firstAttempt: Date?
    /// When the last one began.
    public internal(set) var lastAttempt: Date?
    /// Why the last one left the user with the old file, or why it is unknown what became of the file since; nil also if it was killed.
    public internal(set) var reason: Reason?
    /// Why the last launch could not open the store that serves; nil if it could.
    public internal(set) var failure: Reason?
    /// Whether a launch has seen the old file. The user is then not a new one, even if the file is missing.
    public internal(set) var hasSeenFile = false
    /// The number of records of each entity that the old file gave.
    public internal(set) var records: [String: Int]?
    /// Rows that are kept next to the store, because a value does not have its form or the store's rules refuse them.
    public internal(set) var setAside: Int?
    /// Rows that the store, which had records already, says otherwise; they are kept next to it.
    public internal(set) var differing: Int?
    /// When it was first seen that the app's old code has changed the file after the store took over.
    public internal(set) var writtenSince: Date?
    var source: Source?

    init(file: String) { self.file = file }

    /// Reads a record; nil if there is none.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` if it is damaged, ``HabitStoreError/Code/newerVersion`` for a newer format.
    public init?(path: String) throws {
        var status = stat()
        // What cannot be reached may say that the old file is outdated.
        guard stat(path, &status) == 0 || errno != ENOENT else { return nil }
        let data = try FileFailure.mappingErrors { try OpenFile(path, O_RDONLY).contents() }
        guard !data.starts(with: DatabaseHeader.magic) else {
            throw HabitStoreError(
                .notAStore,
                "this is a database; its launch record is in \(ShellWord.quoted(path + FirstLaunch.recordSuffix))",
                at: .init(path: path)
            )
        }
        struct Format: Decodable { let format: Int }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        do {
            let format = try decoder.decode(Format.self, from: data).format
            guard format <= Self.format else {
                throw HabitStoreError(
                    .newerVersion,
                    "the launch record has format \(format), and this program knows \(Self.format); use a newer one",
                    at: .init(path: path)
                )
            }
            self = try decoder.decode(Self.self, from: data)
        } catch let error as DecodingError {
            throw HabitStoreError(
                .corrupt,
                "the launch record is damaged, so it is unknown whether the old file or the store is newer; compare them with "
                    + "`\(OperatorCommand.name) map verify`, then remove the record: the next launch begins with what is in both",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    /// Writes the record durably.
    func write(_ path: String) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        let data = try encoder.encode(self)
        try FileFailure.mappingErrors { try DurableFile.replace(path, data, draft: DurableFile.ownDraft(of: path)) }
    }
}
