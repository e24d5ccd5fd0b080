import Foundation

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
