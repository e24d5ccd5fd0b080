import Foundation

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreLMDB
@testable import OrderedKeys

/// The records of an entity and its indexes, in a write transaction of the file.
struct LMDBPlantedTable {
    struct Index {
        let attributes: [String]
        let database: LMDBDatabase
        let layout: IndexKeyLayout
        let isClustering: Bool
    }

    let transaction: LMDBTransaction
    let records: LMDBDatabase
    let indexes: [Index]
    let layout: RecordLayout

    func index(_ attributes: [String]) throws -> Index {
        guard let index = indexes.first(where: { $0.attributes == attributes }) else {
            throw HabitStoreError(.notFound, "there is no index over \(attributes.joined(separator: ", "))")
        }
        return index
    }

    func record(_ id: UUID) throws -> [UInt8] {
        let found = try withUnsafeBytes(of: id.uuid) { try transaction.get(records, $0).map { Array($0) } }
        guard let found else { throw HabitStoreError(.notFound, "the record that a fault is planted in is not there") }
        return found
    }

    /// Stores a record and adds its keys to the indexes.
    func put(_ record: [UInt8], _ id: UUID) throws {
        try overwrite(record, id)
        for index in indexes {
            for key in try keys(index, record, id) { try put(key, of: record, into: index) }
        }
    }

    /// Stores a record, and leaves the indexes as they are.
    func overwrite(_ record: [UInt8], _ id: UUID) throws {
        try transaction.put(records, withUnsafeBytes(of: id.uuid) { Array($0) }, record)
    }

    /// Removes a record, and leaves the indexes as they are.
    func remove(_ id: UUID) throws {
        _ = try withUnsafeBytes(of: id.uuid) { try transaction.delete(records, $0) }
    }

    func removeKeys(_ record: [UInt8], _ id: UUID) throws {
        for index in indexes {
            for key in try keys(index, record, id) { try remove(key, from: index) }
        }
    }

    func put(_ key: [UInt8], of record: [UInt8], into index: Index) throws {
        try transaction.put(index.database, key, index.isClustering ? record : [])
    }

    func remove(_ key: [UInt8], from index: Index) throws {
        guard try transaction.delete(index.database, key) else {
            throw HabitStoreError(.notFound, "the index entry that a fault is about is not there")
        }
    }

    /// The keys that a record calls for.
    func keys(_ index: Index, _ record: [UInt8], _ id: UUID) throws -> [[UInt8]] {
        let buffer = IndexKeyBuffer()
        return try record.withUnsafeBytes { bytes in
            try withUnsafeBytes(of: id.uuid) { id in
                let view = RecordView(trusting: bytes, layout: layout)
                guard let position = index.layout.linksPosition else {
                    try buffer.make(index.layout, view, id: id)
                    return [Array(buffer.key)]
                }
                guard case .links(let links) = try view.value(at: position) else { return [] }
                // A link that stands twice has one key.
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
