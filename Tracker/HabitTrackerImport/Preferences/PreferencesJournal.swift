import DurableFiles
import Foundation
import HabitStore
import HabitStoreImport

/// What a run is about to do, on the disk before it does it, so that the next one knows where it was stopped.
struct PreferencesJournal: Codable, Equatable {
    /// How far the run was.
    enum Stage: String, Codable {
        /// The file that is to take the preferences' place may be missing or unfinished.
        case preparing
        /// That file is on the disk, or has taken the place already.
        case prepared
    }

    static let currentVersion = 1
    private static let prefix = "preferences-"

    var version = Self.currentVersion
    var stage = Stage.preparing
    /// The name of this emptying: the same text in a later one is another draft.
    let batch: UUID
    var path: String
    let key: String
    /// What was taken out of the list so far, in order.
    var texts: [String] = []
    /// When the drafts count as begun, in seconds since 2001.
    let begun: Double
    /// The store's token before any of the drafts were in it.
    let token: Int64
    /// The preferences as they were read: identity and SHA-256.
    var identity = ""
    var originalSHA256 = ""
    /// What is to take their place.
    var replacementSHA256 = ""

    /// The file that takes the preferences' place; after an exchange, what they were.
    var temporary: String { DurableFile.folder(of: path) + "/.habitstore-\(batch.uuidString.lowercased()).plist" }

    /// The identifiers of the drafts, each once whatever happens between the making and the emptying.
    var ids: [UUID] { texts.indices.map { DerivedID.make(["preferences", batch.uuidString, String($0)]) } }

    // MARK: On the disk

    /// The journals in a folder; one is there when a run was stopped.
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
                    "the notes of an interrupted import are damaged; move the file away to begin anew",
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
