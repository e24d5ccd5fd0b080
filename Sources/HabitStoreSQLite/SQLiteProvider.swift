import Foundation
@_spi(Engines) import HabitStore

extension EngineName {
    /// SQLite.
    public static let sqlite: EngineName = "sqlite"
}

/// Opens users' stores in SQLite files.
public struct SQLiteProvider: EngineProvider {
    /// Creates the provider.
    public init() {}
}

@_spi(Engines) extension SQLiteProvider: FileEngineProvider {
    /// `sqlite`.
    public var name: EngineName { .sqlite }

    /// A writer's and four readers' connections, each with the file and its log, and the lock of writers.
    public var cost: EngineCost { EngineCost(fileDescriptors: 10) }

    /// The log, its index, and the writers' lock.
    public var sidecars: [String] { ["-wal", "-shm", "-lock"] }

    /// The log.
    public var copiedSidecars: [String] { ["-wal"] }

    /// Whether a file starts like an SQLite database.
    public func recognizes(_ head: Data) -> Bool { head.starts(with: Data("SQLite format 3\0".utf8)) }

    /// Opens a store.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        try SQLiteHabitStore(path: place, schema: schema, access: access)
    }

    /// A store's outline.
    public func outline(at place: String) throws -> StoreOutline { try SQLiteHabitStore.outline(ofStoreAt: place) }

    /// Sets SQLite's soft heap limit; see ``SQLiteHabitStore/limitCaches(toBytes:)``.
    public func limitCaches(toBytes bytes: Int) { SQLiteHabitStore.limitCaches(toBytes: bytes) }
}
