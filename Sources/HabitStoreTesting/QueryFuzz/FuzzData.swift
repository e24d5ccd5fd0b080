import Foundation
@_spi(Engines) import HabitStore

/// Stored records of every entity of a schema, which all stores of a fuzz run contain.
public struct FuzzData: Sendable {
    /// The name, for reports.
    public let name: String
    /// The schema of the records.
    public let schema: Schema
    /// The records of each entity, ascending by identifier.
    var records: [[FuzzRecord]]

    init(name: String, schema: Schema, records: [[FuzzRecord]]) {
        self.name = name
        self.schema = schema
        self.records = records.map { $0.sorted { $0.id.isBefore($1.id) } }
    }

    /// Copies the stored records of a store, including odd ones.
    public init(name: String, of store: some ReplicableStore) throws {
        let schema = store.schema
        let records = try store.replicaRead { replica in
            try schema.entities.indices.map { entity in
                var records: [FuzzRecord] = []
                try replica.enumerate(entity: entity, after: nil) { id, record in
                    records.append(try FuzzRecord(id: id, record: record, layout: schema.entities[entity].layout))
                    return true
                }
                return records
            }
        }
        self.init(name: name, schema: schema, records: records)
    }

    /// The number of records.
    public var count: Int { records.reduce(0) { $0 + $1.count } }

    /// Puts the records into an empty store unchanged.
    public func install(into store: some ReplicableStore) throws {
        try store.replicate { replica in
            for (entity, records) in records.enumerated() {
                for record in records { try replica.put(entity: entity, id: record.id, record.record) }
            }
        }
    }
}

/// A stored record.
struct FuzzRecord: Sendable {
    let id: UUID
    let record: EncodedRecord
    let values: [Value]

    init(id: UUID, record: EncodedRecord, layout: RecordLayout) throws {
        self.id = id
        self.record = record
        values = try record.values(layout)
    }

    /// Encodes values; the first is the identifier.
    init(_ values: [Value], layout: RecordLayout) throws {
        guard case .uuid(let id)? = values.first else {
            throw HabitStoreError(.invalidValue, "the first value of a record must be its identifier")
        }
        try self.init(id: id, record: EncodedRecord(values, layout: layout), layout: layout)
    }
}
