import Foundation
@_spi(Engines) import HabitStore

/// What a restore that was decided is to bring about, in the file `plan.json` of the folder `restoring`: whoever finds it finishes it.
struct RestorationPlan: Codable {
    /// A store of the backup.
    struct Store: Codable {
        let engine: EngineName
        /// The name of its file in the folder.
        let file: String
        /// The file's number, which it keeps when it is put in its place.
        let inode: UInt64
        /// What it is to be used for; nil for one that stays as it is in the backup.
        let role: StoreRole?
    }

    static let currentVersion = 1

    var version = Self.currentVersion
    /// Above all that is known of the user.
    let epoch: Int
    /// The engine of the store that serves from then on.
    let engine: EngineName
    /// The token that the backup comes to.
    let token: HistoryToken
    let lineage: UUID
    /// What the stores with a role are told.
    let state: RolloutState
    let stores: [Store]
    /// Files of evidence that are put in their place where the user has none.
    let evidence: [String]
    let by: String
    let because: String
    /// Where the backup lies, so that an erasure finds it; nil in a plan of a version that did not say.
    let backup: String?

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }

    /// - Throws: ``HabitStoreError/Code/newerVersion`` for one of a later version, ``HabitStoreError/Code/corrupt`` for a damaged one.
    init(_ data: Data, path: String) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch {
            throw HabitStoreError(
                .corrupt,
                "a restore was interrupted, and what says how it goes on is damaged; restore the backup again",
                at: .init(path: path),
                underlying: error
            )
        }
        guard version == Self.currentVersion else {
            throw HabitStoreError(
                .newerVersion,
                "a restore was begun by a newer program; finish it with that",
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
