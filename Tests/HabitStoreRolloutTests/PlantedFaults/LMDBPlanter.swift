import Foundation
import HabitStoreRollout
import StandardEngines

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreLMDB
@testable import OrderedKeys

/// Plants faults in an LMDB file by puts and deletes of keys and values. Checksums of records are right.
struct LMDBPlanter: FaultPlanter {
    let path: String
    private let schema = HabitSchema.current

    init(path: String) { self.path = path }

    var address: StoreAddress { StoreAddress(.lmdb, path: path) }

    func change(_ entity: String, _ changes: [UUID: [String: Value]]) throws {
        let description = try schema.entity(entity)
        try write(description) { file in
            for (id, values) in changes {
                let old = try file.record(id)
                var changed = try EncodedRecord(old).values(description.layout)
                for (attribute, value) in values {
                    changed[try schema.position(ofAttribute: attribute, in: entity)] = value
                }
                try file.removeKeys(old, id)
                try file.put(RawRecord.encode(changed, description.layout), id)
            }
        }
    }

    func insert(_ entity: String, _ values: [Value]) throws {
        let description = try schema.entity(entity)
        guard case .uuid(let id)? = values.first else { return }
        try write(description) { try $0.put(RawRecord.encode(values, description.layout), id) }
    }

    func remove(_ entity: String, _ id: UUID) throws {
        try write(try schema.entity(entity)) { file in
            try file.removeKeys(try file.record(id), id)
            try file.remove(id)
        }
    }

    func damage(_ entity: String, _ id: UUID, _ attribute: String) throws {
        let description = try schema.entity(entity)
        let slot = description.layout.offsets[try schema.position(ofAttribute: attribute, in: entity)]
        try write(description) { file in
            var bytes = try file.record(id)
            let start = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: slot, as: UInt32.self) }
            bytes[Int(UInt32(littleEndian: start))] ^= 1
            try file.overwrite(bytes, id)
        }
    }

    // MARK: Indexes

    func dropIndexEntries(_ entity: String, _ attributes: [String], of id: UUID) throws {
        try write(try schema.entity(entity)) { file in
            let index = try file.index(attributes)
            for key in try file.keys(index, try file.record(id), id) { try file.remove(key, from: index) }
        }
    }

    func addIndexEntries(_ entity: String, _ attributes: [String], of values: [Value]) throws {
        let description = try schema.entity(entity)
        guard case .uuid(let id)? = values.first else { return }
        try write(description) { file in
            let index = try file.index(attributes)
            let record = RawRecord.encode(values, description.layout)
            for key in try file.keys(index, record, id) { try file.put(key, of: record, into: index) }
        }
    }

    func changeCopy(_ entity: String, _ values: [Value], _ attribute: String, _ value: Value) throws {
        let position = try schema.position(ofAttribute: attribute, in: entity)
        try changeCopy(entity, values) { layout, _ in
            var changed = values
            changed[position] = value
            return RawRecord.encode(changed, layout)
        }
    }

    func dropCopy(_ entity: String, _ values: [Value]) throws { try changeCopy(entity, values) { _, _ in [] } }

    func damageCopy(_ entity: String, _ values: [Value]) throws {
        try changeCopy(entity, values) { _, copy in Array(copy.dropLast()) + [copy[copy.count - 1] ^ 1] }
    }

    private func changeCopy(
        _ entity: String,
        _ values: [Value],
        _ change: (RecordLayout, [UInt8]) -> [UInt8]
    ) throws {
        let description = try schema.entity(entity)
        guard case .uuid(let id)? = values.first else { return }
        try write(description) { file in
            guard let index = file.indexes.first(where: \.isClustering) else { throw missing }
            let record = RawRecord.encode(values, description.layout)
            for key in try file.keys(index, record, id) {
                try file.put(key, of: change(description.layout, record), into: index)
            }
        }
    }

    func swapIndexEntries(_ entity: String, _ attribute: String, of first: [Value], and second: [Value]) throws {
        let description = try schema.entity(entity)
        guard case (.uuid(let one), .uuid(let other)) = (first[0], second[0]) else { return }
        try write(description) { file in
            let index = try file.index([attribute])
            let records = [first, second].map { RawRecord.encode($0, description.layout) }
            for (id, record) in zip([one, other], records) {
                for key in try file.keys(index, record, id) { try file.remove(key, from: index) }
            }
            for (id, record) in zip([other, one], records) {
                for key in try file.keys(index, record, id) { try file.put(key, of: record, into: index) }
            }
        }
    }

    // MARK: History and bookkeeping

    func replaceHistory(_ token: HistoryToken, with transaction: HistoryTransaction?) throws {
        try write(LMDBFormat.history) { write, database in
            var keys: [[UInt8]] = []
            try write.forEach(database) { record in
                if try HistoryKey(record.key, path: path).token == token.rawValue { keys.append(Array(record.key)) }
                return true
            }
            guard !keys.isEmpty else { throw missing }
            for key in keys { try write.delete(database, key) }
            guard let transaction else { return }
            let header = HistoryKey(token: transaction.token.rawValue, sequence: 0)
            try write.put(database, header.bytes, HistoryCoder.header(transaction))
            for (sequence, change) in zip(UInt64(1)..., transaction.changes) {
                var value: [UInt8] = []
                try HistoryCoder.encode(change, into: &value)
                let key = HistoryKey(token: transaction.token.rawValue, sequence: sequence)
                try write.put(database, key.bytes, value)
            }
        }
    }

    func setBookkeeping(_ key: String, _ value: String) throws {
        try write(LMDBFormat.metadata) { write, database in
            try write.put(database, Array(key.utf8), Array(value.utf8))
        }
    }

    func changeDigest(_ entity: String, count: Int64, sum bit: UInt8) throws {
        try write(LMDBFormat.digests) { write, database in
            var found: [(key: [UInt8], value: [UInt8])] = []
            try write.forEach(database) { record in
                let isAsked = record.key.starts(with: Array(entity.utf8) + [0])
                if isAsked { found.append((Array(record.key), Array(record.value))) }
                return true
            }
            guard found.count == 1, var value = found.first?.value else { throw missing }
            // The depth, the number, the sum.
            let number = value.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 1, as: Int64.self) }
            let changed = withUnsafeBytes(of: (Int64(littleEndian: number) + count).littleEndian) { Array($0) }
            value.replaceSubrange(1..<9, with: changed)
            value[9] ^= bit
            try write.put(database, found[0].key, value)
        }
    }

    // MARK: The file

    private var missing: HabitStoreError {
        HabitStoreError(.notFound, "what a fault is planted in is not there", at: .init(path: path))
    }

    private func write(_ name: String, _ body: (LMDBTransaction, LMDBDatabase) throws -> Void) throws {
        let environment = try LMDBEnvironment.open(path: path)
        defer { environment.close() }
        let database = try environment.openDatabases(names: [name], create: false)[0]
        try environment.withWrite { try body($0, database) }
    }

    private func write(_ entity: EntityDescription, _ body: (LMDBPlantedTable) throws -> Void) throws {
        let environment = try LMDBEnvironment.open(path: path)
        defer { environment.close() }
        let indexes = entity.indexes
        let names = [entity.name] + indexes.map { KeyFormat.indexName(entity.name, $0) }
        let databases = try environment.openDatabases(names: names, create: false)
        try environment.withWrite { transaction in
            try body(
                LMDBPlantedTable(
                    transaction: transaction,
                    records: databases[0],
                    indexes: try zip(indexes, databases.dropFirst()).map { index, database in
                        .init(
                            attributes: index.attributes,
                            database: database,
                            layout: try IndexKeyLayout(index, of: entity),
                            isClustering: index.isClustering
                        )
                    },
                    layout: entity.layout
                )
            )
        }
    }
}
