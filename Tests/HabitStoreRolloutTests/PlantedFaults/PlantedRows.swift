import Foundation
import HabitStore

@testable import OrderedKeys

/// What a store over ordered keys has, while one transaction changes it past the store.
protocol PlantedRows {
    /// A record; nil where there is none.
    func record(_ entity: String, _ id: UUID) throws -> [UInt8]?
    func putRecord(_ entity: String, _ id: UUID, _ record: [UInt8]) throws
    func removeRecord(_ entity: String, _ id: UUID) throws

    /// Adds an entry to an index.
    ///
    /// - Parameter copy: what a clustering index holds beside the key, where the engine has any.
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
