import Foundation
@_spi(Engines) import HabitStore

extension EngineName {
    /// The journal.
    public static let journal: EngineName = "journal"
}

/// The journal, for whatever opens users' stores. Where files are, and copying and removing them, is
/// `FileEngineProvider`'s.
public struct JournalProvider: EngineProvider {
    /// Offers the engine.
    public init() {}
}

@_spi(Engines) extension JournalProvider: FileEngineProvider {
    /// `journal`.
    public var name: EngineName { .journal }

    /// The file, and the lock of writers while one is at work.
    public var cost: EngineCost { EngineCost(fileDescriptors: 2) }

    /// The lock of writers.
    public var sidecars: [String] { [JournalFile.lockSuffix] }

    /// None: everything is in the file.
    public var copiedSidecars: [String] { [] }

    /// The file's first bytes say so.
    public func recognizes(_ head: Data) -> Bool { head.starts(with: JournalHeader.magic) }

    /// Opens a store.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        try JournalStore(path: place, schema: schema, access: access)
    }

    /// What a store says of itself.
    public func outline(at place: String) throws -> StoreOutline { try JournalStore.outline(ofStoreAt: place) }
}
