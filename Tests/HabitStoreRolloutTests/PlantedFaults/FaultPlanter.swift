import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

/// Changes a closed store's file, or its rows on a server, without using the store's code: the result is well-formed, and wrong.
protocol FaultPlanter {
    /// Changes attributes of records of an entity, bit for bit; index entries follow.
    func change(_ entity: String, _ changes: [UUID: [String: Value]]) throws

    /// Adds a record with its index entries.
    func insert(_ entity: String, _ values: [Value]) throws

    /// Removes a record with its index entries.
    func remove(_ entity: String, _ id: UUID) throws

    /// Changes a byte of a text so that the record can no longer be read.
    func damage(_ entity: String, _ id: UUID, _ attribute: String) throws

    /// Removes the entries of a record from an index. The record does not change.
    func dropIndexEntries(_ entity: String, _ attributes: [String], of id: UUID) throws

    /// Adds the index entries of a record, but not the record. An existing record does not change.
    func addIndexEntries(_ entity: String, _ attributes: [String], of values: [Value]) throws

    /// Exchanges the entries of two records in the index over a date.
    func swapIndexEntries(_ entity: String, _ attribute: String, of first: [Value], and second: [Value]) throws

    /// Replaces a history transaction; nil removes it.
    func replaceHistory(_ token: HistoryToken, with transaction: HistoryTransaction?) throws

    /// Sets a value of the store's bookkeeping.
    func setBookkeeping(_ key: String, _ value: String) throws

    /// Adds to the number of records in the kept digests of an entity, or changes a bit of their sum.
    func changeDigest(_ entity: String, count: Int64, sum bit: UInt8) throws

    /// The store's address.
    var address: StoreAddress { get }

    /// Opens the store as an app does.
    func open(_ access: StoreAccess) throws -> any UserStoreBackend
}

/// Changes a store whose clustering indexes contain copies of records.
protocol CopyPlanter: FaultPlanter {
    /// Changes an attribute in the clustering index's copy of a record; the index keys stay the same, and so does the record.
    func changeCopy(_ entity: String, _ values: [Value], _ attribute: String, _ value: Value) throws
}

extension FaultPlanter {
    func open(_ access: StoreAccess) throws -> any UserStoreBackend {
        try address.open(access, schema: HabitSchema.current)
    }

    /// The history before a fault is planted in it.
    func history() throws -> [HistoryTransaction] {
        let store = try open(.readOnly)
        defer { store.close() }
        return try store.read { try $0.fetchHistory(after: .zero) }
    }

    /// Changes attributes of a record, bit for bit; index entries follow.
    func change(_ entity: String, _ id: UUID, _ values: [String: Value]) throws {
        try change(entity, [id: values])
    }

    /// Writes through the store itself, as a mirror does: index entries and kept digests follow.
    func mirror(_ body: (any ReplicaTransaction) throws -> Void) throws {
        let store = try open(.readWrite)
        defer { store.close() }
        try store.replicate(body)
    }
}

extension Schema {
    /// The entity with a name.
    func entity(_ name: String) throws -> EntityDescription { entities[try position(ofEntity: name)] }

    /// The position of an attribute of an entity.
    func position(ofAttribute attribute: String, in entity: String) throws -> Int {
        guard let position = try self.entity(entity).position(of: attribute) else {
            throw HabitStoreError(.unknownAttribute, "\(entity) has no attribute \(attribute)")
        }
        return position
    }
}
