import Foundation
@_spi(Engines) import HabitStoreTesting

@_spi(Engines) @testable import HabitStore

/// The in-memory store with predicates lowered to filters, as for engines with files.
final class LoweringStore: EngineBackedStore {
    let core: EngineStore<InMemoryEngine>

    init(schema: Schema, identity: UUID, now: @escaping @Sendable () -> Date) throws {
        core = try EngineStore(
            InMemoryEngine(schema: schema),
            schema: schema,
            evaluatesPredicates: false,
            identity: identity,
            now: now
        )
    }
}

extension StoreUnderTest {
    static let lowering = StoreUnderTest(name: "in memory, lowered", isDurable: false) { _, schema, identity, clock in
        try LoweringStore(schema: schema, identity: identity, now: clock)
    }
}
