import Foundation
import HabitStoreRollout
import HabitTracker
import RawStoreFiles
import StandardEngines

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreLMDB
@testable import OrderedKeys

/// Plants faults in an LMDB file.
struct LMDBPlanter: OrderedKeyPlanter, CopyPlanter {
    let path: String

    var address: StoreAddress { StoreAddress(.lmdb, path: path) }

    func write(_ body: (RawTransaction) throws -> Void) throws {
        let environment = try RawEnvironment(path: path, isDurable: false)
        defer { environment.close() }
        try environment.write(body)
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

extension RawTransaction: PlantedRows {
    func record(_ entity: String, _ id: UUID) throws -> [UInt8]? { try get(entity, id.rawBytes) }

    func putRecord(_ entity: String, _ id: UUID, _ record: [UInt8]) throws { try put(entity, id.rawBytes, record) }

    func removeRecord(_ entity: String, _ id: UUID) throws { try remove(entity, id.rawBytes) }

    func putKey(_ key: [UInt8], _ copy: [UInt8], _ index: String) throws { try put(index, key, copy) }

    func removeKey(_ key: [UInt8], _ index: String) throws -> Bool {
        guard try get(index, key) != nil else { return false }
        try remove(index, key)
        return true
    }

    func removeHistory(_ token: HistoryToken) throws -> Bool {
        let keys = try items(LMDBFormat.history).map(\.key).filter { key in
            try key.withUnsafeBytes { try HistoryKey($0, path: "").token } == token.rawValue
        }
        for key in keys { try remove(LMDBFormat.history, key) }
        return !keys.isEmpty
    }

    func putHistory(_ key: HistoryKey, _ value: [UInt8]) throws { try put(LMDBFormat.history, key.bytes, value) }

    func putMetadata(_ key: String, _ value: String) throws { try setText(key, value) }

    func changeDigest(_ entity: String, _ change: (inout [UInt8]) -> Void) throws {
        let found = try items(LMDBFormat.digests).filter { $0.key.starts(with: Array(entity.utf8) + [0]) }
        guard found.count == 1 else { throw HabitStoreError(.notFound, "there is not one digest of \(entity)") }
        var value = found[0].value
        change(&value)
        try put(LMDBFormat.digests, found[0].key, value)
    }
}
