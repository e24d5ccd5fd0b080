import Foundation

/// A kind of a model, like a subclass of a model in SwiftData. Structs have no subclasses, so a kind is a separate type for the
/// same record.
///
/// ```swift
/// struct BusinessTrip: ModelSubtype {
///     var base: Trip
///     static let kind: Filter<Trip> = {
///         let business = Trip.Kind.business
///         return Filter(#Predicate { $0.kind == business })
///     }()
///     init?(_ base: Trip) {
///         guard base.kind == .business else { return nil }
///         self.base = base
///     }
///     var perdiem: Double { get { base.perdiem ?? 0 } set { base.perdiem = newValue } }
/// }
/// let all = try store.fetch(FetchDescriptor<Trip>())                     // of every kind
/// let business = try store.fetch(BusinessTrip.self, sortBy: [SortDescriptor(\.startDate)])
/// if let trip = all[0].as(BusinessTrip.self) { print(trip.name, trip.perdiem) }
/// ```
///
/// The base has the attributes of all kinds, with those of a single kind optional, and an attribute that distinguishes the kinds,
/// like the single table of an inheritance in Core Data. So changing and saving a record as its base loses nothing of its kind.
/// Everything about the base (uniqueness, relationships, indexes, history under the base's name) also applies to each kind.
@dynamicMemberLookup
public protocol ModelSubtype: Sendable, Equatable, Identifiable where ID == UUID {
    /// The model.
    associatedtype Base: PersistentModel

    /// Which of the model's records are of this kind; exactly those for which ``init(_:)`` gives something.
    static var kind: Filter<Base> { get }

    /// A record as this kind, as `as?` would; nil where it is of another.
    init?(_ base: Base)

    /// The record.
    var base: Base { get set }
}

extension ModelSubtype {
    /// The record's identity.
    public var id: UUID { base.id }

    /// The kind has every property of the model.
    public subscript<Value>(dynamicMember keyPath: WritableKeyPath<Base, Value>) -> Value {
        get { base[keyPath: keyPath] }
        set { base[keyPath: keyPath] = newValue }
    }

    /// The kind answers everything that the model does.
    public subscript<Value>(dynamicMember keyPath: KeyPath<Base, Value>) -> Value { base[keyPath: keyPath] }
}

extension PersistentModel {
    /// Whether the record is of a kind.
    public func `is`<Kind: ModelSubtype>(_ kind: Kind.Type) -> Bool where Kind.Base == Self { Kind(self) != nil }

    /// The record as a kind, or nil where it is of another.
    public func `as`<Kind: ModelSubtype>(_ kind: Kind.Type) -> Kind? where Kind.Base == Self { Kind(self) }
}

extension FetchDescriptor {
    /// The same fetch, of one kind only.
    public func only<Kind: ModelSubtype>(_ kind: Kind.Type) -> FetchDescriptor where Kind.Base == Model {
        var descriptor = self
        descriptor.filter = .all([Kind.kind, filter])
        return descriptor
    }
}

extension ReadTransaction {
    /// The records of a kind, in order.
    ///
    /// - Throws: ``HabitStoreError/Code/internalInconsistency`` when the kind's condition and its initialiser disagree.
    public func fetch<Kind: ModelSubtype>(
        _ kind: Kind.Type,
        _ descriptor: FetchDescriptor<Kind.Base> = FetchDescriptor()
    ) throws -> [Kind] {
        try fetch(descriptor.only(kind)).map { base in
            guard let found = Kind(base) else {
                throw HabitStoreError(
                    .internalInconsistency,
                    "the condition of \(kind) holds for a record that its initialiser refuses",
                    at: .init(entity: Kind.Base.entity.name, id: base.id)
                )
            }
            return found
        }
    }
}

extension HabitStore {
    /// The records of a kind, in order.
    public func fetch<Kind: ModelSubtype>(
        _ kind: Kind.Type,
        predicate: Predicate<Kind.Base>? = nil,
        sortBy: [SortDescriptor<Kind.Base>] = []
    ) throws -> [Kind] {
        try read { try $0.fetch(kind, FetchDescriptor(predicate: predicate, sortBy: sortBy)) }
    }

    /// The number of records of a kind.
    public func fetchCount<Kind: ModelSubtype>(_ kind: Kind.Type, predicate: Predicate<Kind.Base>? = nil) throws -> Int
    {
        try fetchCount(FetchDescriptor(predicate: predicate).only(kind))
    }

    /// Stores a record: a new one, or the new state of the one that has its identifier.
    public func save<Kind: ModelSubtype>(_ record: Kind, author: String? = nil) throws {
        try save(record.base, author: author)
    }
}

extension WriteTransaction {
    /// Stores a record: a new one, or the new state of the one that has its identifier.
    public func save<Kind: ModelSubtype>(_ record: Kind) throws { try save(record.base) }
}
