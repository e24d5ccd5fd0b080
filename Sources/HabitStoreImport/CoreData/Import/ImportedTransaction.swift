import Foundation
import HabitStore

/// A transaction of the source's history, as the attachment of a store keeps it that has a history of its own.
struct ImportedTransaction: Encodable {
    struct Change: Encodable {
        let entity: String
        let id: UUID
        let kind: String
        let tombstone: [String: StoredJSON]?
    }

    let transaction: Int64
    let secondsSince2001: Double
    let author: String?
    let changes: [Change]

    init(_ source: CoreDataTransaction, _ changes: [HistoryChange]) {
        transaction = source.number
        secondsSince2001 = source.timestamp.timeIntervalSinceReferenceDate
        author = source.author
        self.changes = changes.map { change in
            switch change.kind {
            case .insert: Change(entity: change.entity, id: change.id, kind: "insert", tombstone: nil)
            case .update: Change(entity: change.entity, id: change.id, kind: "update", tombstone: nil)
            case .delete(let values):
                Change(
                    entity: change.entity,
                    id: change.id,
                    kind: "delete",
                    tombstone: values.mapValues { StoredJSON($0) }
                )
            }
        }
    }
}
