import Foundation
@_spi(Engines) import HabitStore

/// A store in one append-only file: each commit is a frame at its end.
public final class JournalStore: MaintainableStore, ReplicableStore {
    /// The engine with the store's semantics.
    @_spi(Engines) public let core: EngineStore<JournalEngine>

    /// Opens or creates a store.
    ///
    /// - Parameters:
    ///   - identity: the identity of a new store; nil for a random one.
    ///   - now: the clock that stamps history transactions.
    /// - Throws: `notFound`, `notAStore`, `newerVersion`, `corrupt`, `permissionDenied`, `full`, `inputOutput`, `busy`, and `schemaMismatch` if the
    ///   store has
    ///   another schema.
    public init(
        path: String,
        schema: Schema,
        access: StoreAccess,
        identity: UUID?,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        try schema.validate()
        let engine = try JournalEngine(path: path, schema: schema, access: access)
        do {
            core = try EngineStore(
                engine,
                schema: schema,
                isReadOnly: access == .readOnly,
                identity: identity,
                now: now
            )
        } catch {
            engine.close()
            throw error
        }
    }

    /// Opens a store.
    public convenience init(path: String, schema: Schema, access: StoreAccess) throws {
        try self.init(path: path, schema: schema, access: access, identity: nil)
    }

    /// The outline of the store in a file, whatever its schema.
    @_spi(Engines) public static func outline(ofStoreAt path: String) throws -> StoreOutline {
        let engine = try JournalEngine(path: path, schema: Schema([]), access: .readOnly)
        defer { engine.close() }
        return try engine.read { try StoreOutline($0, path: path) }
    }
}

@_spi(Engines) extension JournalStore: FileBackedStore {}
