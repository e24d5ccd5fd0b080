import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

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
