import Foundation
import HabitTracker

@_spi(Engines) @testable import HabitStore
@testable import OrderedKeys

/// Plants faults in a store over ordered keys by adding and removing keys and values, which have the same bytes in every such engine. Checksums of
/// records are right.
protocol OrderedKeyPlanter: FaultPlanter {
    associatedtype Rows: PlantedRows

    /// Runs `body` on the store's contents, in one transaction that bypasses the store.
    func write(_ body: (Rows) throws -> Void) throws
}

extension OrderedKeyPlanter {
    private var schema: Schema { HabitSchema.current }

    func change(_ entity: String, _ changes: [UUID: [String: Value]]) throws {
        try write(entity) { table, layout in
            for (id, values) in changes {
                let old = try table.record(id)
                var changed = try EncodedRecord(old).values(layout)
                for (attribute, value) in values {
                    changed[try schema.position(ofAttribute: attribute, in: entity)] = value
                }
                try table.removeKeys(old, id)
                try table.put(RawRecord.encode(changed, layout), id)
            }
        }
    }

    func insert(_ entity: String, _ values: [Value]) throws {
        guard case .uuid(let id)? = values.first else { return }
        try write(entity) { table, layout in try table.put(RawRecord.encode(values, layout), id) }
    }

    func remove(_ entity: String, _ id: UUID) throws {
        try write(entity) { table, _ in
            try table.removeKeys(try table.record(id), id)
            try table.remove(id)
        }
    }

    func damage(_ entity: String, _ id: UUID, _ attribute: String) throws {
        let position = try schema.position(ofAttribute: attribute, in: entity)
        try write(entity) { table, layout in
            var bytes = try table.record(id)
            let start = bytes.withUnsafeBytes {
                $0.loadUnaligned(fromByteOffset: layout.offsets[position], as: UInt32.self)
            }
            bytes[Int(UInt32(littleEndian: start))] ^= 1
            try table.overwrite(bytes, id)
        }
    }

    // MARK: Indexes

    func dropIndexEntries(_ entity: String, _ attributes: [String], of id: UUID) throws {
        try write(entity) { table, _ in
            let index = try table.index(attributes)
            for key in try table.keys(index, try table.record(id), id) { try table.remove(key, from: index) }
        }
    }

    func addIndexEntries(_ entity: String, _ attributes: [String], of values: [Value]) throws {
        guard case .uuid(let id)? = values.first else { return }
        try write(entity) { table, layout in
            let index = try table.index(attributes)
            let record = RawRecord.encode(values, layout)
            for key in try table.keys(index, record, id) { try table.put(key, of: record, into: index) }
        }
    }

    func swapIndexEntries(_ entity: String, _ attribute: String, of first: [Value], and second: [Value]) throws {
        guard case (.uuid(let one), .uuid(let other)) = (first[0], second[0]) else { return }
        try write(entity) { table, layout in
            let index = try table.index([attribute])
            let records = [first, second].map { RawRecord.encode($0, layout) }
            for (id, record) in zip([one, other], records) {
                for key in try table.keys(index, record, id) { try table.remove(key, from: index) }
            }
            for (id, record) in zip([other, one], records) {
                for key in try table.keys(index, record, id) { try table.put(key, of: record, into: index) }
            }
        }
    }

    // MARK: History and bookkeeping

    func replaceHistory(_ token: HistoryToken, with transaction: HistoryTransaction?) throws {
        try write { rows in
            guard try rows.removeHistory(token) else {
                throw HabitStoreError(.notFound, "the transaction that a fault is planted in is not there")
            }
            guard let transaction else { return }
            let token = transaction.token.rawValue
            try rows.putHistory(HistoryKey(token: token, sequence: 0), HistoryCoder.header(transaction))
            for (sequence, change) in zip(UInt64(1)..., transaction.changes) {
                var value: [UInt8] = []
                try HistoryCoder.encode(change, into: &value)
                try rows.putHistory(HistoryKey(token: token, sequence: sequence), value)
            }
        }
    }

    func setBookkeeping(_ key: String, _ value: String) throws { try write { try $0.putMetadata(key, value) } }

    func changeDigest(_ entity: String, count: Int64, sum bit: UInt8) throws {
        try write { rows in
            try rows.changeDigest(entity) { value in
                // The depth, the number of records, the sum.
                let number = value.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 1, as: Int64.self) }
                value.replaceSubrange(1..<9, with: RawRecord.number(Int64(littleEndian: number) + count))
                value[9] ^= bit
            }
        }
    }

    /// Runs `body` on the records of an entity and its indexes.
    func write(_ entity: String, _ body: (PlantedTable<Rows>, RecordLayout) throws -> Void) throws {
        let description = try schema.entity(entity)
        try write { try body(PlantedTable($0, description), description.layout) }
    }
}
