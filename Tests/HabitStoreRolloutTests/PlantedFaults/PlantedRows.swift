import Foundation
import HabitStore

@testable import OrderedKeys

/// The contents of a store over ordered keys, in a transaction that bypasses the store.
protocol PlantedRows {
    /// A record, if it exists.
    func record(_ entity: String, _ id: UUID) throws -> [UInt8]?
    func putRecord(_ entity: String, _ id: UUID, _ record: [UInt8]) throws
    func removeRecord(_ entity: String, _ id: UUID) throws

    /// Adds an entry to an index.
    ///
    /// - Parameter copy: a clustering index's copy of the record, for engines that have one.
    func putKey(_ key: [UInt8], _ copy: [UInt8], _ index: String) throws
    /// - Returns: whether there was such an entry.
    func removeKey(_ key: [UInt8], _ index: String) throws -> Bool

    /// Removes a transaction of the history.
    ///
    /// - Returns: whether there was one.
    func removeHistory(_ token: HistoryToken) throws -> Bool
    func putHistory(_ key: HistoryKey, _ value: [UInt8]) throws

    func putMetadata(_ key: String, _ value: String) throws

    /// Changes the kept digest of an entity.
    ///
    /// - Throws: `notFound` unless there is exactly one.
    func changeDigest(_ entity: String, _ change: (inout [UInt8]) -> Void) throws
}
