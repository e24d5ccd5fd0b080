import Foundation

@_spi(Engines) @testable import HabitStore
@testable import OrderedKeys

/// The records of an entity and its indexes, in a transaction that bypasses the store.
struct PlantedTable<Rows: PlantedRows> {
    struct Index {
        let attributes: [String]
        let name: String
        let layout: IndexKeyLayout
        let isClustering: Bool
    }

    private let rows: Rows
    private let entity: EntityDescription
    let indexes: [Index]

    init(_ rows: Rows, _ entity: EntityDescription) throws {
        (self.rows, self.entity) = (rows, entity)
        indexes = try entity.indexes.map { index in
            Index(
                attributes: index.attributes,
                name: KeyFormat.indexName(entity.name, index),
                layout: try IndexKeyLayout(index, of: entity),
                isClustering: index.isClustering
            )
        }
    }

    func index(_ attributes: [String]) throws -> Index {
        guard let index = indexes.first(where: { $0.attributes == attributes }) else {
            throw HabitStoreError(.notFound, "there is no index over \(attributes.joined(separator: ", "))")
        }
        return index
    }

    func record(_ id: UUID) throws -> [UInt8] {
        guard let found = try rows.record(entity.name, id) else {
            throw HabitStoreError(.notFound, "the record that a fault is planted in is not there")
        }
        return found
    }

    /// Stores a record and adds its keys to the indexes.
    func put(_ record: [UInt8], _ id: UUID) throws {
        try overwrite(record, id)
        for index in indexes {
            for key in try keys(index, record, id) { try put(key, of: record, into: index) }
        }
    }

    /// Stores a record without updating the indexes.
    func overwrite(_ record: [UInt8], _ id: UUID) throws { try rows.putRecord(entity.name, id, record) }

    /// Removes a record without updating the indexes.
    func remove(_ id: UUID) throws { try rows.removeRecord(entity.name, id) }

    func removeKeys(_ record: [UInt8], _ id: UUID) throws {
        for index in indexes {
            for key in try keys(index, record, id) { try remove(key, from: index) }
        }
    }

    func put(_ key: [UInt8], of record: [UInt8], into index: Index) throws {
        try rows.putKey(key, index.isClustering ? record : [], index.name)
    }

    func remove(_ key: [UInt8], from index: Index) throws {
        guard try rows.removeKey(key, index.name) else {
            throw HabitStoreError(.notFound, "the index entry that a fault is about is not there")
        }
    }

    /// The keys of a record in an index.
    func keys(_ index: Index, _ record: [UInt8], _ id: UUID) throws -> [[UInt8]] {
        let buffer = IndexKeyBuffer()
        return try record.withUnsafeBytes { bytes in
            try withUnsafeBytes(of: id.uuid) { id in
                let view = RecordView(trusting: bytes, layout: entity.layout)
                guard let position = index.layout.linksPosition else {
                    try buffer.make(index.layout, view, id: id)
                    return [Array(buffer.key)]
                }
                guard case .links(let links) = try view.value(at: position) else { return [] }
                // A link that occurs twice has one key.
                return try Set(links).map { link in
                    try withUnsafeBytes(of: link.uuid) { try buffer.make(index.layout, view, link: $0, id: id) }
                    return Array(buffer.key)
                }
            }
        }
    }
}

extension EncodedRecord {
    init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { EncodedRecord(copying: $0) } }
}
