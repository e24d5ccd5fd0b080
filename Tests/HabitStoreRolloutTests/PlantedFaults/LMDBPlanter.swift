import Foundation
import HabitStoreRollout
import HabitTracker
import StandardEngines

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreLMDB
@testable import OrderedKeys

/// Plants faults in an LMDB file.
struct LMDBPlanter: OrderedKeyPlanter, CopyPlanter {
    let path: String

    var address: StoreAddress { StoreAddress(.lmdb, path: path) }

    func write(_ body: (LMDBPlantedRows) throws -> Void) throws {
        let environment = try LMDBEnvironment.open(path: path)
        defer { environment.close() }
        let names = [LMDBFormat.metadata] + (try LMDBCatalog.databaseNames(HabitSchema.current))
        let databases = try environment.openDatabases(names: names, create: false)
        try environment.withWrite { transaction in
            try body(
                LMDBPlantedRows(
                    transaction: transaction,
                    databases: Dictionary(uniqueKeysWithValues: zip(names, databases)),
                    path: path
                )
            )
        }
    }

    // MARK: Copies

    func changeCopy(_ entity: String, _ values: [Value], _ attribute: String, _ value: Value) throws {
        let position = try HabitSchema.current.position(ofAttribute: attribute, in: entity)
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
        guard case .uuid(let id)? = values.first else { return }
        try write(entity) { table, layout in
            guard let index = table.indexes.first(where: \.isClustering) else {
                throw HabitStoreError(.notFound, "\(entity) has no clustering index", at: .init(path: path))
            }
            let record = RawRecord.encode(values, layout)
            for key in try table.keys(index, record, id) { try table.put(key, of: change(layout, record), into: index) }
        }
    }
}

/// The contents of an LMDB file, in a write transaction.
struct LMDBPlantedRows: PlantedRows {
    let transaction: LMDBTransaction
    let databases: [String: LMDBDatabase]
    let path: String

    private func database(_ name: String) throws -> LMDBDatabase {
        guard let database = databases[name] else { throw missing("the file has no database \(name)") }
        return database
    }

    private func missing(_ message: String) -> HabitStoreError {
        HabitStoreError(.notFound, message, at: .init(path: path))
    }

    func record(_ entity: String, _ id: UUID) throws -> [UInt8]? {
        try withUnsafeBytes(of: id.uuid) { try transaction.get(database(entity), $0).map { Array($0) } }
    }

    func putRecord(_ entity: String, _ id: UUID, _ record: [UInt8]) throws {
        try transaction.put(database(entity), withUnsafeBytes(of: id.uuid) { Array($0) }, record)
    }

    func removeRecord(_ entity: String, _ id: UUID) throws {
        _ = try withUnsafeBytes(of: id.uuid) { try transaction.delete(database(entity), $0) }
    }

    func putKey(_ key: [UInt8], _ copy: [UInt8], _ index: String) throws {
        try transaction.put(database(index), key, copy)
    }

    func removeKey(_ key: [UInt8], _ index: String) throws -> Bool { try transaction.delete(database(index), key) }

    func removeHistory(_ token: HistoryToken) throws -> Bool {
        let database = try database(LMDBFormat.history)
        var keys: [[UInt8]] = []
        try transaction.forEach(database) { record in
            if try HistoryKey(record.key, path: path).token == token.rawValue { keys.append(Array(record.key)) }
            return true
        }
        for key in keys { try transaction.delete(database, key) }
        return !keys.isEmpty
    }

    func putHistory(_ key: HistoryKey, _ value: [UInt8]) throws {
        try transaction.put(database(LMDBFormat.history), key.bytes, value)
    }

    func putMetadata(_ key: String, _ value: String) throws {
        try transaction.put(database(LMDBFormat.metadata), Array(key.utf8), Array(value.utf8))
    }

    func changeDigest(_ entity: String, _ change: (inout [UInt8]) -> Void) throws {
        let database = try database(LMDBFormat.digests)
        var found: [(key: [UInt8], value: [UInt8])] = []
        try transaction.forEach(database) { record in
            let isAsked = record.key.starts(with: Array(entity.utf8) + [0])
            if isAsked { found.append((Array(record.key), Array(record.value))) }
            return true
        }
        guard found.count == 1 else { throw missing("there is not one digest of \(entity)") }
        change(&found[0].value)
        try transaction.put(database, found[0].key, found[0].value)
    }
}
