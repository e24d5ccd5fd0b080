import Foundation

/// A record without its Swift type: values in the order of the entity's attributes.
public struct Record: Sendable, Hashable {
    /// The position of the entity in the schema.
    public let entity: Int
    /// The identifier.
    public let id: UUID
    /// The values.
    public let values: [Value]

    /// Makes a record.
    public init(entity: Int, id: UUID, values: [Value]) {
        self.entity = entity
        self.id = id
        self.values = values
    }
}

@_spi(Engines) extension Record: RecordAccess {
    /// The value of the attribute at a position.
    public func value(at position: Int) throws -> Value { values[position] }
}
