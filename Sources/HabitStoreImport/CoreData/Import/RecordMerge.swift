import Foundation
@_spi(Engines) import HabitStore

/// A record of another program on its way into a store of Swift types.
protocol ForeignRecord {
    /// Distinguishes it from others of the source.
    var name: String { get }
    /// The index of its entity in the schema.
    var entity: Int { get }
    var id: UUID { get }
    /// Nil if the store cannot hold it.
    var record: EncodedRecord? { get }
}

/// Writes another program's records to a store of Swift types, in one of its transactions. Such a store cannot hold references to missing records
/// or a unique value that another record has: these are obstacles, and the records that they leave no place for are refused.
struct RecordMerge<Item: ForeignRecord> {
    /// Why the store does not hold something of a record.
    enum Obstacle {
        /// Another record has the unique value; the record is refused.
        case taken(Value)
        /// The referenced or linked record is missing. The record is refused if it requires it.
        case missing(UUID)
    }

    private let transaction: any WriteTransaction
    private let schema: Schema
    private(set) var obstacles: [(item: Item, attribute: Int, Obstacle)] = []
    /// The names of refused records.
    private(set) var refused: Set<String> = []
    private(set) var inserted: [Item] = []
    private(set) var updated: [Item] = []
    /// The record that has each unique value among those that are written.
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

    mutating func write(_ items: [Item]) throws {
        var writable: [(item: Item, values: [Value])] = []
        for item in items {
            guard let record = item.record else {
                refused.insert(item.name)
                continue
            }
            let values = try record.values(schema.entities[item.entity].layout)
            if try takesUniqueValues(values, item) {
                writable.append((item, values))
            } else {
                refused.insert(item.name)
            }
        }
        // Refusing a record also refuses the records that require it.
        while true {
            let there = Set(writable.map { Target(entity: $0.item.entity, id: $0.item.id) })
            let before = writable.count
            writable = try writable.compactMap { item, values in
                guard let fixed = try withoutDangling(values, item, there) else {
                    refused.insert(item.name)
                    return nil
                }
                return (item, fixed)
            }
            if writable.count == before { break }
        }
        for (item, values) in writable { try store(item, values) }
    }

    private mutating func store(_ item: Item, _ values: [Value]) throws {
        let record = try EncodedRecord(values, layout: schema.entities[item.entity].layout)
        let before = try transaction.encodedRecord(item.id, entity: item.entity)
        if before == record { return }
        try transaction.save(record, entity: item.entity)
        if before == nil { inserted.append(item) } else { updated.append(item) }
    }

    private mutating func takesUniqueValues(_ values: [Value], _ item: Item) throws -> Bool {
        let entity = schema.entities[item.entity]
        var own: [Unique] = []
        for (place, attribute) in entity.attributes.enumerated().dropFirst()
        where attribute.isUnique && !values[place].isNull {
            let unique = Unique(entity: item.entity, attribute: place, value: values[place])
            let owner = try taken[unique] ?? transaction.record(of: entity, having: values[place], for: attribute)
            if let owner, owner != item.id {
                obstacles.append((item, place, .taken(values[place])))
                return false
            }
            own.append(unique)
        }
        for unique in own { taken[unique] = item.id }
        return true
    }

    /// The values without references to missing records; nil if the record requires one of them.
    private mutating func withoutDangling(_ values: [Value], _ item: Item, _ there: Set<Target>) throws -> [Value]? {
        var values = values
        for relationship in schema.relationships[item.entity] where relationship.isStored {
            let attribute = schema.entities[item.entity].attributes[relationship.attribute]
            func leadsNowhere(_ id: UUID) throws -> Bool {
                if there.contains(Target(entity: relationship.destination, id: id)) { return false }
                return try !transaction.withRow(entity: relationship.destination, id: id) { _ in }
            }
            switch values[relationship.attribute] {
            case .uuid(let id):
                guard try leadsNowhere(id) else { continue }
                obstacles.append((item, relationship.attribute, .missing(id)))
                guard attribute.isOptional else { return nil }
                values[relationship.attribute] = .null
            case .links(let ids):
                let dangling = try ids.filter(leadsNowhere)
                for id in dangling { obstacles.append((item, relationship.attribute, .missing(id))) }
                if !dangling.isEmpty { values[relationship.attribute] = .links(ids.filter { !dangling.contains($0) }) }
            default: continue
            }
        }
        return values
    }
}

extension WriteTransaction {
    /// Stores an encoded record through its Swift type, so that all rules for models apply.
    func save(_ record: EncodedRecord, entity: Int) throws {
        try save(record, schema.entities[entity].modelType, entity)
    }

    private func save<M: PersistentModel>(_ record: EncodedRecord, _ type: M.Type, _ entity: Int) throws {
        let model = try record.withView(schema.entities[entity].layout) { view in
            var reader = view.reader
            return try M(row: &reader)
        }
        try save(model)
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

    /// The identifier of the first record with a value; nil if there is none.
    func record(of entity: EntityDescription, having value: Value, for attribute: AttributeDescription) throws -> UUID?
    {
        let filter = FilterExpression.compare(.equal, .attribute(AttributePath(attribute.name)), .literal(value))
        return try records(RecordQuery(entity: entity.name, filter: filter, limit: 1)).first?.id
    }
}
