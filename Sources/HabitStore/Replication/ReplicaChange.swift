import Foundation

/// What becomes of a record in a store that follows another one.
@_spi(Engines) public struct ReplicaChange: Sendable {
    /// The position of the record's entity in the schema.
    public let entity: Int
    /// The record's identifier.
    public let id: UUID
    /// The record after the change; nil if it was deleted.
    public let record: EncodedRecord?

    /// A stored record, or a deletion.
    public init(entity: Int, id: UUID, _ record: EncodedRecord?) {
        (self.entity, self.id, self.record) = (entity, id, record)
    }
}
