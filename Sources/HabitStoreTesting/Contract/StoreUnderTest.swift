import Foundation
@_spi(Engines) import HabitStore

/// A kind of store to run the kit against.
public struct StoreUnderTest: Sendable, CustomStringConvertible {
    /// Opens the store in a directory, or creates it.
    ///
    /// The arguments are the existing directory, the schema, the identity of a new store, and the clock that stamps history transactions.
    @_spi(Engines) public typealias Opening =
        @Sendable (URL, Schema, UUID, @escaping @Sendable () -> Date) throws -> any EngineBackedStore

    /// The name, for reports.
    public let name: String
    /// Whether a closed store can be opened again in the same directory.
    public let isDurable: Bool
    /// Opens the store.
    @_spi(Engines) public let open: Opening

    /// Describes a kind of store.
    @_spi(Engines) public init(name: String, isDurable: Bool, open: @escaping Opening) {
        self.name = name
        self.isDurable = isDurable
        self.open = open
    }

    /// The name.
    public var description: String { name }
}

extension StoreUnderTest {
    /// The reference implementation: the store in memory.
    public static let inMemory = StoreUnderTest(name: "in memory", isDurable: false) { _, schema, identity, clock in
        try InMemoryHabitStore(schema: schema, identity: identity, now: clock)
    }
}
