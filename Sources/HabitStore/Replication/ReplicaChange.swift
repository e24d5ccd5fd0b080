import Foundation

/// What becomes of a record in a store that follows another one.
@_spi(Engines) public struct ReplicaChange: Sendable {
    /// The position of the record's entity in the schema.
    public let entity: Int
    /// The record's identifier.
    public let id: UUID
    /// The record as it is then; nil for one that is gone.
    public let record: EncodedRecord?

    /// A record as it is, or one that is gone.
    public init(entity: Int, id: UUID, _ record: EncodedRecord?) {
        (self.entity, self.id, self.record) = (entity, id, record)
    }
}
