/// A notable finding about a Core Data file: something missing, guessed or unusual.
public struct CoreDataOddity: Sendable, Hashable, Codable {
    /// A stable name for programs, such as `logNeverCommitted`.
    public let kind: String
    /// One sentence without record values.
    public let message: String
    /// The entity concerned.
    public let entity: String?
    /// The attribute or relationship concerned.
    public let property: String?
    /// The number of occurrences, if that is meaningful.
    public let count: Int?

    init(_ kind: String, _ message: String, entity: String? = nil, property: String? = nil, count: Int? = nil) {
        self.kind = kind
        self.message = message
        self.entity = entity
        self.property = property
        self.count = count
    }
}
