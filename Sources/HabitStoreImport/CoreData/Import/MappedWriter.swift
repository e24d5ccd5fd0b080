import Foundation
@_spi(Engines) import HabitStore
import Hashing
import JSONText

/// Writes a batch to a store of Swift types. Such a store cannot hold references to missing records or a unique value that another record
/// has; these are returned as losses and refused records.
struct MappedWriter {
    private let transaction: any WriteTransaction
    private let schema: Schema
    private(set) var losses: [ImportLoss] = []
    private(set) var refused: Set<String> = []
    private(set) var inserted: [String] = []
    private(set) var updated: [String] = []
    private(set) var deleted = 0
    /// The source rows of links to missing records.
    private(set) var danglingLinks: [UnmappedRow] = []
    /// The record that has each unique value in this batch.
    private var taken: [Unique: UUID] = [:]

    private struct Unique: Hashable {
        let entity: Int
        let attribute: Int
        let value: Value
    }

    private struct Target: Hashable {
        let entity: Int
        let id: UUID
    }

    init(_ transaction: any WriteTransaction) {
        self.transaction = transaction
        schema = transaction.schema
    }

    mutating func write(_ items: [MappedBatch.Item], _ deletions: [MappedBatch.Deletion]) throws {
        var writable: [(item: MappedBatch.Item, values: [Value])] = []
        for item in items {
            guard let record = item.made.record else {
                refused.insert(item.record)
                continue
            }
            let values = try record.values(schema.entities[item.plan.target].layout)
            if try takesUniqueValues(values, item) {
                writable.append((item, values))
            } else {
                refused.insert(item.record)
            }
        }
        // Refusing a record also refuses the records that require it.
        while true {
            let there = Set(writable.map { Target(entity: $0.item.plan.target, id: $0.item.made.id) })
            let before = writable.count
            writable = try writable.compactMap { item, values in
                guard let fixed = try withoutDangling(values, item, there) else {
                    refused.insert(item.record)
                    return nil
                }
                return (item, fixed)
            }
            if writable.count == before { break }
        }
        for (item, values) in writable { try store(item, values) }
        for deletion in deletions where try transaction.deleteRecord(deletion.id, entity: deletion.entity) {
            deleted += 1
        }
    }

    private mutating func store(_ item: MappedBatch.Item, _ values: [Value]) throws {
        let record = try EncodedRecord(values, layout: schema.entities[item.plan.target].layout)
        let before = try transaction.encodedRecord(item.made.id, entity: item.plan.target)
        if before == record { return }
        try transaction.save(record, entity: item.plan.target)
        if before == nil { inserted.append(item.plan.source.name) } else { updated.append(item.plan.source.name) }
    }

    // MARK: Refused values

    private mutating func takesUniqueValues(_ values: [Value], _ item: MappedBatch.Item) throws -> Bool {
        let entity = schema.entities[item.plan.target]
        for (place, attribute) in entity.attributes.enumerated().dropFirst()
        where attribute.isUnique && !values[place].isNull {
            let unique = Unique(entity: item.plan.target, attribute: place, value: values[place])
            var owner = taken[unique]
            if owner == nil {
                let filter = FilterExpression.compare(
                    .equal,
                    .attribute(AttributePath(attribute.name)),
                    .literal(values[place])
                )
                owner = try transaction.records(RecordQuery(entity: entity.name, filter: filter, limit: 1)).first?.id
            }
            if let owner, owner != item.made.id {
                lose(
                    item,
                    attribute.name,
                    "another \(entity.name) has the same \(attribute.name)",
                    JSON(stored: values[place])
                )
                return false
            }
            taken[unique] = item.made.id
        }
        return true
    }

    /// The values without references to missing records; nil if the record requires one of them.
    private mutating func withoutDangling(
        _ values: [Value],
        _ item: MappedBatch.Item,
        _ there: Set<Target>
    ) throws -> [Value]? {
        var values = values
        for relationship in schema.relationships[item.plan.target] where relationship.isStored {
            let attribute = schema.entities[item.plan.target].attributes[relationship.attribute]
            func leadsNowhere(_ id: UUID) throws -> Bool {
                if there.contains(Target(entity: relationship.destination, id: id)) { return false }
                return try !transaction.withRow(entity: relationship.destination, id: id) { _ in }
            }
            switch values[relationship.attribute] {
            case .uuid(let id):
                guard try leadsNowhere(id) else { continue }
                let key = item.made.keys[relationship.attribute]?[id]
                let value = key.map { JSON(stored: SourceValue.int($0)) } ?? JSON(stored: Value.uuid(id))
                lose(item, attribute.name, "leads to no record", value, item.column(relationship.attribute))
                guard attribute.isOptional else { return nil }
                values[relationship.attribute] = .null
            case .links(let ids):
                let dangling = try ids.filter(leadsNowhere)
                for id in dangling {
                    lose(item, attribute.name, "leads to no record", JSON(stored: Value.uuid(id)))
                    if let row = item.link(relationship.attribute, to: id) { danglingLinks.append(row) }
                }
                if !dangling.isEmpty { values[relationship.attribute] = .links(ids.filter { !dangling.contains($0) }) }
            default: continue
            }
        }
        return values
    }

    private mutating func lose(
        _ item: MappedBatch.Item,
        _ property: String,
        _ reason: String,
        _ value: JSON,
        _ column: String? = nil
    ) {
        losses.append(
            ImportLoss(
                entity: item.plan.source.name,
                key: item.key,
                id: item.made.id,
                property: property,
                table: item.plan.source.table,
                column: column,
                reason: reason,
                value: value
            )
        )
    }
}

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
        func link(_ attribute: Int, to id: UUID) -> UnmappedRow? {
            guard case .links(let name) = plan.fields[attribute], let target = made.keys[attribute]?[id],
                case .table(let table, let here, let there)? = plan.source.relationship(name)?.storage
            else { return nil }
            return UnmappedRow(table, [here: key, there: target], "a link that leads to no record")
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

extension WriteTransaction {
    /// Stores an encoded record through its Swift type, so that all rules for models apply.
    func save(_ record: EncodedRecord, entity: Int) throws {
        try save(record, schema.entities[entity].modelType, entity)
    }

    private func save<M: PersistentModel>(_ record: EncodedRecord, _ type: M.Type, _ entity: Int) throws {
        try record.withView(schema.entities[entity].layout) { view in
            var reader = view.reader
            try save(try M(row: &reader))
        }
    }

    /// Deletes the record with an identifier, applying the delete rules.
    func deleteRecord(_ id: UUID, entity: Int) throws -> Bool { try delete(id, schema.entities[entity].modelType) }

    private func delete<M: PersistentModel>(_ id: UUID, _ type: M.Type) throws -> Bool { try delete(type, id: id) }
}

extension ReadTransaction {
    /// The encoded record; nil if there is none.
    func encodedRecord(_ id: UUID, entity: Int) throws -> EncodedRecord? {
        var record: EncodedRecord?
        _ = try withRow(entity: entity, id: id) { record = try $0.encoded() }
        return record
    }
}
