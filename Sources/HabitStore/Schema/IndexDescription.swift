/// An ordered index over one or more attributes of an entity; the identifier is always its last key.
public struct IndexDescription: Sendable, Hashable {
    /// The attributes' names, first key first.
    public let attributes: [String]

    /// Declares an index; the order of the names is the order of the keys.
    public init(_ attributes: String...) { self.attributes = attributes }

    init(attributes: [String]) { self.attributes = attributes }
}
