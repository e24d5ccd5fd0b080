import Foundation
@_spi(Engines) import HabitStore

/// Everything in a store that a copy or comparison reads.
struct LMDBStoreContents: Equatable {
    var information: StoreInformation
    var counts: [Int] = []
    var identifiers: [[UUID]] = []
    var records: [[EncodedRecord]] = []
    var history: [HistoryTransaction] = []
    var backfillState: String?
    var rolloutState: String?
    var metadata: [String?] = []
    var digests: [[DigestLeaf]?] = []

    /// The keys of the bookkeeping, as listed in the article on the formats, and one that does not exist.
    private static let keys = [
        "format", "indexes", "storeID", "lineage", "schemaVersion", "schema", "role", "epoch", "historyFloor",
        "lastToken",
        "textForm", "none",
    ]

    init<Store: EngineBackedStore>(_ store: Store) throws {
        let entities = store.schema.entities.indices
        self = try store.replicaRead { snapshot in
            var contents = LMDBStoreContents(information: try snapshot.information())
            for entity in entities {
                contents.counts.append(try snapshot.count(entity: entity))
                var found: ([UUID], [EncodedRecord]) = ([], [])
                try snapshot.enumerate(entity: entity, after: nil) { id, record in
                    found.0.append(id)
                    found.1.append(record)
                    return true
                }
                contents.identifiers.append(found.0)
                contents.records.append(found.1)
            }
            try snapshot.enumerateHistory(after: contents.information.historyFloor) {
                contents.history.append($0)
                return true
            }
            contents.backfillState = try snapshot.backfillState()
            contents.rolloutState = try snapshot.rolloutState()
            return contents
        }
        try store.core.engine.read { snapshot in
            metadata = try Self.keys.map { try snapshot.metadata($0) }
            digests = try entities.map { try snapshot.digestLeaves(entity: $0) }
        }
    }

    private init(information: StoreInformation) { self.information = information }
}
