import Foundation
@_spi(Engines) import HabitStore

/// The goal of a decided restore, in the file `plan.json` of the folder `restoring`. A process that finds it finishes the restore.
struct RestorationPlan: Codable {
    struct Store: Codable {
        let engine: EngineName
        /// The name of its file in the folder.
        let file: String
        /// The file's inode number, which it keeps when it is moved into place.
        let inode: UInt64
        /// Its role after the restore; nil for a store that keeps the one in the backup.
        let role: StoreRole?
    }

    static let currentVersion = 1

    var version = Self.currentVersion
    /// Above every epoch known of the user.
    let epoch: Int
    /// The engine of the store that will serve.
    let engine: EngineName
    /// The last token of the backup.
    let token: HistoryToken
    let lineage: UUID
    /// The state to write to the stores with a role.
    let state: RolloutState
    let stores: [Store]
    /// Evidence files to place if the user has none.
    let evidence: [String]
    let by: String
    let because: String
    /// The backup's path, so that an erasure finds it; nil in a plan of a version without it.
    let backup: String?

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }

    /// - Throws: ``HabitStoreError/Code/newerVersion`` for a plan of another version, ``HabitStoreError/Code/corrupt`` for a damaged one.
    init(_ data: Data, path: String) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch {
            throw HabitStoreError(
                .corrupt,
                "a restore was interrupted, and its plan is damaged; restore the backup again",
                at: .init(path: path),
                underlying: error
            )
        }
        guard version == Self.currentVersion else {
            throw HabitStoreError(
                .newerVersion,
                "a newer program began a restore; finish it with that program",
                at: .init(path: path)
            )
        }
    }

    init(
        epoch: Int,
        engine: EngineName,
        token: HistoryToken,
        lineage: UUID,
        state: RolloutState,
        stores: [Store],
        evidence: [String],
        by: String,
        because: String,
        backup: String
    ) {
        (self.epoch, self.engine, self.token, self.lineage) = (epoch, engine, token, lineage)
        (self.state, self.stores, self.evidence) = (state, stores, evidence)
        (self.by, self.because, self.backup) = (by, because, backup)
    }
}
