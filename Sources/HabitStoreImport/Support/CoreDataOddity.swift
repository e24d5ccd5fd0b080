/// Something about a Core Data file that a person should know: what is missing, guessed, or not as it usually is.
public struct CoreDataOddity: Sendable, Hashable, Codable {
    /// A stable name for programs, such as `logNeverCommitted`.
    public let kind: String
    /// One sentence. Holds no values of records.
    public let message: String
    /// The entity that it is about.
    public let entity: String?
    /// The attribute or relationship that it is about.
    public let property: String?
    /// How often, where that means something.
    public let count: Int?

    init(_ kind: String, _ message: String, entity: String? = nil, property: String? = nil, count: Int? = nil) {
        self.kind = kind
        self.message = message
        self.entity = entity
        self.property = property
        self.count = count
    }
}
