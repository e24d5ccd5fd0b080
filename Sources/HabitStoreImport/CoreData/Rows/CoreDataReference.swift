/// What a to-one relationship's column holds.
public struct CoreDataReference: Sendable, Hashable {
    /// The key of the target in its table.
    public let key: Int64
    /// The number of the target's entity, where the file says it.
    public let entityNumber: Int?
}
