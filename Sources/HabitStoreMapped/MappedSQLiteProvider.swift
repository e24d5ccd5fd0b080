import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport

extension EngineName {
    /// An app's own SQLite file.
    public static let mapped: EngineName = "mapped"
}

/// Opens users' stores in the app's own SQLite files, by a mapping.
public struct MappedSQLiteProvider: EngineProvider {
    /// Which rows are which records.
    public let mapping: TableMapping

    /// Creates the provider.
    public init(mapping: TableMapping) { self.mapping = mapping }
}

@_spi(Engines) extension MappedSQLiteProvider: FileEngineProvider {
    /// `mapped`.
    public var name: EngineName { .mapped }

    /// A writer's and four readers' connections, each with the file and its log or journal.
    public var cost: EngineCost { EngineCost(fileDescriptors: 10) }

    /// The log and its index, or the rollback journal.
    public var sidecars: [String] { ["-wal", "-shm", "-journal"] }

    /// The log, or the journal of an interrupted write.
    public var copiedSidecars: [String] { ["-wal", "-journal"] }

    /// Whether a file starts like an SQLite database. Only the address distinguishes an adopted file from a store of ``EngineName/sqlite``.
    public func recognizes(_ head: Data) -> Bool { head.starts(with: Data("SQLite format 3\0".utf8)) }

    /// Opens an adopted file; it is not adopted here, whatever the access.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        try MappedSQLiteStore(
            path: place,
            mapping: mapping,
            schema: schema,
            options: MappedSQLiteStore.Options(isReadOnly: access == .readOnly)
        )
    }

    /// A store's outline.
    public func outline(at place: String) throws -> StoreOutline { try MappedSQLiteStore.outline(ofStoreAt: place) }
}
