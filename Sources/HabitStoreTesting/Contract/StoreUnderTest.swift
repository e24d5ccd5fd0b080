import Foundation
@_spi(Engines) import HabitStore

/// A kind of store that the kit is run against.
public struct StoreUnderTest: Sendable, CustomStringConvertible {
    /// Opens the store in a directory, or makes it there.
    ///
    /// Its arguments are the directory, which exists, the schema, the identity of a new store, and the clock that stamps
    /// history transactions.
    @_spi(Engines) public typealias Opening =
        @Sendable (URL, Schema, UUID, @escaping @Sendable () -> Date) throws -> any EngineBackedStore

    /// The name, for reports.
    public let name: String
    /// Whether a store that was closed is found again when it is opened in the same directory.
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
    /// The reference: the store in memory.
    public static let inMemory = StoreUnderTest(name: "in memory", isDurable: false) { _, schema, identity, clock in
        try InMemoryHabitStore(schema: schema, identity: identity, now: clock)
    }
}
