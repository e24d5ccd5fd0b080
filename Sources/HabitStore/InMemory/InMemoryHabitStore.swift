import Foundation

/// A store without a file: the reference, and what previews and tests use.
///
/// It looks at every record of an entity, and Foundation itself evaluates the predicate, so what it answers is what
/// Swift means. A write copies what it changes, in time proportional to the entity's size.
public final class InMemoryHabitStore: MaintainableStore, ReplicableStore {
    /// The engine with the semantics over it.
    @_spi(Engines) public let core: EngineStore<InMemoryEngine>

    /// Makes an empty store.
    ///
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` when the schema contradicts itself.
    public init(
        schema: Schema,
        identity: UUID = UUID(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        core = try EngineStore(
            InMemoryEngine(schema: schema),
            schema: schema,
            evaluatesPredicates: true,
            identity: identity,
            now: now
        )
    }

    /// A handle on a store that a provider keeps.
    init(_ engine: InMemoryEngine, schema: Schema, isReadOnly: Bool) throws {
        core = try EngineStore(engine, schema: schema, isReadOnly: isReadOnly, evaluatesPredicates: true)
    }
}

@_spi(Engines) extension InMemoryHabitStore: EngineBackedStore {}
