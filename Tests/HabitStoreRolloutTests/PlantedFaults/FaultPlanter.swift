import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

/// Changes a closed store's file, or its rows on a server, behind the back of all that keeps it right: what is there afterwards is
/// sound by itself, and wrong.
protocol FaultPlanter {
    /// Gives attributes of records of an entity other values, bit for bit; index entries follow.
    func change(_ entity: String, _ changes: [UUID: [String: Value]]) throws

    /// Adds a record with its index entries.
    func insert(_ entity: String, _ values: [Value]) throws

    /// Removes a record with its index entries.
    func remove(_ entity: String, _ id: UUID) throws

    /// Changes a byte of a text so that the record cannot be read any more.
    func damage(_ entity: String, _ id: UUID, _ attribute: String) throws

    /// Removes the entries of a record from an index. The record stays as it is.
    func dropIndexEntries(_ entity: String, _ attributes: [String], of id: UUID) throws

    /// Adds the index entries that a record would have, and not the record. One that is there stays as it is.
    func addIndexEntries(_ entity: String, _ attributes: [String], of values: [Value]) throws

    /// Has the index over a date lead to the one of two records where the other one is.
    func swapIndexEntries(_ entity: String, _ attribute: String, of first: [Value], and second: [Value]) throws

    /// Puts a history transaction in the place of another one; nil for nothing.
    func replaceHistory(_ token: HistoryToken, with transaction: HistoryTransaction?) throws

    /// Sets a value of the store's bookkeeping.
    func setBookkeeping(_ key: String, _ value: String) throws

    /// Adds to the number of records that the kept digests of an entity tell, or changes a bit of their sum.
    func changeDigest(_ entity: String, count: Int64, sum bit: UInt8) throws

    /// The store.
    var address: StoreAddress { get }

    /// Opens the store as an app does.
    func open(_ access: StoreAccess) throws -> any UserStoreBackend
}

/// Changes a store whose clustering indexes hold copies of records.
protocol CopyPlanter: FaultPlanter {
    /// Gives an attribute of a record another value in the copy that the clustering index has of it, whose keys do not change.
    /// The record stays as it is.
    func changeCopy(_ entity: String, _ values: [Value], _ attribute: String, _ value: Value) throws
}

extension FaultPlanter {
    func open(_ access: StoreAccess) throws -> any UserStoreBackend {
        try address.open(access, schema: HabitSchema.current)
    }

    /// The history as it is before something is planted in it.
    func history() throws -> [HistoryTransaction] {
        let store = try open(.readOnly)
        defer { store.close() }
        return try store.read { try $0.fetchHistory(after: .zero) }
    }

    /// Gives attributes of a record other values, bit for bit; index entries follow.
    func change(_ entity: String, _ id: UUID, _ values: [String: Value]) throws {
        try change(entity, [id: values])
    }

    /// Writes through the store itself, as a mirror does: index entries and kept digests follow what is written.
    func mirror(_ body: (any ReplicaTransaction) throws -> Void) throws {
        let store = try open(.readWrite)
        defer { store.close() }
        try store.replicate(body)
    }
}

extension Schema {
    /// The entity of a name.
    func entity(_ name: String) throws -> EntityDescription { entities[try position(ofEntity: name)] }

    /// The position of an attribute of an entity.
    func position(ofAttribute attribute: String, in entity: String) throws -> Int {
        guard let position = try self.entity(entity).position(of: attribute) else {
            throw HabitStoreError(.unknownAttribute, "\(entity) has no attribute \(attribute)")
        }
        return position
    }
}
