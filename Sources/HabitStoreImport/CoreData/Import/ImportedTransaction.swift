import Foundation
import HabitStore

/// A source transaction in the attachment, for a store with its own history.
struct ImportedTransaction: Encodable {
    struct Change: Encodable {
        let entity: String
        let key: Int64
        let kind: String
        let tombstone: [String: StoredJSON]?
    }

    let transaction: Int64
    let secondsSince2001: Double
    let author: String?
    let context: String?
    let process: String?
    let bundle: String?
    let changes: [Change]

    init(_ source: CoreDataTransaction, _ changes: [CoreDataChange], _ model: CoreDataModel) {
        transaction = source.number
        secondsSince2001 = source.timestamp.timeIntervalSinceReferenceDate
        author = source.author
        context = source.context
        process = source.process
        bundle = source.bundle
        self.changes = changes.map { change in
            let values = change.tombstone.map { ($0.column, StoredJSON($0.value)) }
            return Change(
                entity: model.entity(number: change.entity)?.name ?? "\(change.entity)",
                key: change.key,
                kind: "\(change.kind)",
                tombstone: values.isEmpty ? nil : Dictionary(values, uniquingKeysWith: { first, _ in first })
            )
        }
    }
}
