import Foundation
@_spi(Engines) import HabitStore
import Hashing

/// Source records to write to a store of Swift types in one transaction.
struct MappedBatch {
    /// A record and its origin in the source.
    struct Item {
        let root: String
        let key: Int64
        let plan: CoreDataPlan.Entity
        let made: RecordMaker.Made
        /// A hash of the record's contents in the source.
        let digest: String

        init(root: String, key: Int64, plan: CoreDataPlan.Entity, made: RecordMaker.Made) {
            (self.root, self.key, self.plan, self.made) = (root, key, plan, made)
            let hash = SHA256.hash(data: Data(made.record?.bytes ?? []))
            digest = hash.prefix(12).hexadecimal
        }

        /// The source column that an attribute of the target gets its reference from.
        func column(_ attribute: Int) -> String? {
            switch plan.fields[attribute] {
            case .reference(let name): plan.source.column(of: name)
            case .owner(let column, _): column
            default: nil
            }
        }

        /// The source row of a link in an attribute of the target.
        func link(_ attribute: Int, to id: UUID) -> KeptRow? {
            guard case .links(let name) = plan.fields[attribute], let target = made.keys[attribute]?[id],
                case .table(let table, let here, let there)? = plan.source.relationship(name)?.storage
            else { return nil }
            return KeptRow(table, [here: key, there: target], "a link that leads to no record")
        }

        var record: String { ImportLedger.record(root, key) }
    }

    /// A record that the source no longer has.
    struct Deletion {
        let record: String
        let entity: Int
        let id: UUID
    }

    var items: [Item] = []
    var deletions: [Deletion] = []
    var known: Set<String> = []

    /// Adds a record unless the batch contains it.
    mutating func add(_ item: Item) {
        if known.insert(item.record).inserted { items.append(item) }
    }
}
