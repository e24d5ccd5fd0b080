import DurableFiles
import Foundation
import HabitStore
import HabitStoreImport

/// The plan of a run, written to disk before it is carried out, so that the next run knows where this one was interrupted.
struct PreferencesJournal: Codable, Equatable {
    /// The progress of a run.
    enum Stage: String, Codable {
        /// The replacement file may be missing or incomplete.
        case preparing
        /// The replacement file is on disk, or has already replaced the preferences.
        case prepared
    }

    static let currentVersion = 1
    private static let prefix = "preferences-"

    var version = Self.currentVersion
    var stage = Stage.preparing
    /// Identifies this emptying: the same text in a later one is another draft.
    let batch: UUID
    var path: String
    let key: String
    /// The texts taken from the list so far, in order.
    var texts: [String] = []
    /// The creation date of the drafts, in seconds since 2001.
    let begun: Double
    /// The store's token before any of the drafts were stored.
    let token: Int64
    /// The identity and the SHA-256 of the preferences when they were read.
    var identity = ""
    var originalSHA256 = ""
    /// The SHA-256 of the replacement.
    var replacementSHA256 = ""

    /// The path of the replacement; after an exchange, of the original preferences.
    var temporary: String { DurableFile.folder(of: path) + "/.habitstore-\(batch.uuidString.lowercased()).plist" }

    /// The identifiers of the drafts, which stay the same if storing them is repeated.
    var ids: [UUID] { texts.indices.map { DerivedID.make(["preferences", batch.uuidString, String($0)]) } }

    // MARK: Storage

    /// The journals in a folder; there is one if a run was interrupted.
    static func all(in folder: String) throws -> [PreferencesJournal] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch {
            throw HabitStoreError(.inputOutput, "the folder cannot be read", at: .init(path: folder), underlying: error)
        }
        return try names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(".json") }.sorted().map { name in
            let file = folder + "/" + name
            do {
                let journal = try JSONDecoder().decode(Self.self, from: Data(try WholeFile.read(file).bytes))
                guard journal.version == currentVersion else {
                    throw HabitStoreError(
                        .newerVersion,
                        "the notes of an interrupted import are of a newer version",
                        at: .init(path: file)
                    )
                }
                return journal
            } catch let error as DecodingError {
                throw HabitStoreError(
                    .corrupt,
                    "the notes of an interrupted import are damaged; move the file away to start over",
                    at: .init(path: file),
                    underlying: error
                )
            }
        }
    }

    func write(in folder: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let bytes = try encoder.encode(self)
        try FileFailure.told { try DurableFile.replace(file(in: folder), bytes) }
    }

    func remove(from folder: String) throws {
        guard unlink(file(in: folder)) == 0 || errno == ENOENT else {
            throw HabitStoreError.system(errno, "the notes of the import cannot be removed", file(in: folder))
        }
        try FileFailure.told { try DurableFile.synchronizeFolder(of: file(in: folder)) }
    }

    private func file(in folder: String) -> String { "\(folder)/\(Self.prefix)\(batch.uuidString.lowercased()).json" }
}
