/// The target of a to-one relationship.
public struct CoreDataReference: Sendable, Hashable {
    /// The key of the target in its table.
    public let key: Int64
    /// The number of the target's entity, if the file stores it.
    public let entityNumber: Int?
}
