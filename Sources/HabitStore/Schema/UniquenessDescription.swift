/// A combination of attributes that no two records of an entity may share.
///
/// A record with nil in one of the attributes has no combination, and conflicts with none.
public struct UniquenessDescription: Sendable, Hashable {
    /// The attributes' names.
    public internal(set) var attributes: [String]
    /// The attributes' key paths, until the entity gives them their names.
    private var keyPaths: [any AnyKeyPath & Sendable] = []

    /// Declares a combination by names.
    public init(_ attributes: [String]) { self.attributes = attributes }

    /// Declares a combination by key paths, as `#Unique` does:
    /// `uniqueness: [.unique(\Trip.name, \Trip.startDate, \Trip.endDate)]`.
    ///
    /// A write that takes another record's combination is refused with ``HabitStoreError/Code/uniqueViolation``, as for a unique attribute;
    /// SwiftData would change the other record instead. The entity gets an index over the attributes, in this order, unless a declared one begins
    /// with them.
    public static func unique<Model: PersistentModel>(
        _ keyPaths: any PartialKeyPath<Model> & Sendable...
    ) -> UniquenessDescription {
        var combination = UniquenessDescription([])
        combination.keyPaths = keyPaths
        return combination
    }

    /// The combination with its attributes' names. A key path that leads to none of them keeps its own description, which no
    /// attribute has, so that the schema is refused.
    func named(by attributes: [AttributeDescription]) -> UniquenessDescription {
        guard !keyPaths.isEmpty else { return self }
        return UniquenessDescription(
            keyPaths.map { keyPath in
                attributes.first { $0.keyPath as AnyKeyPath == keyPath as AnyKeyPath }?.name ?? "\(keyPath)"
            }
        )
    }

    /// Whether both are of the same attributes in the same order.
    public static func == (left: Self, right: Self) -> Bool { left.attributes == right.attributes }

    /// Hashes the attributes.
    public func hash(into hasher: inout Hasher) { hasher.combine(attributes) }
}
