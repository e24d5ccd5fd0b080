import Foundation
@_spi(Engines) import HabitStore

extension EngineName {
    /// The name of the journal engine.
    public static let journal: EngineName = "journal"
}

/// Provides the journal engine for users' stores. `FileEngineProvider` places, copies and removes the files.
public struct JournalProvider: EngineProvider {
    /// Makes a provider.
    public init() {}
}

@_spi(Engines) extension JournalProvider: FileEngineProvider {
    /// `journal`.
    public var name: EngineName { .journal }

    /// The file, and the writer lock during a write.
    public var cost: EngineCost { EngineCost(fileDescriptors: 2) }

    /// The file of the writer lock.
    public var sidecars: [String] { [JournalFile.lockSuffix] }

    /// None: everything is in the file.
    public var copiedSidecars: [String] { [] }

    /// Whether the first bytes of a file are a journal's.
    public func recognizes(_ head: Data) -> Bool { head.starts(with: JournalHeader.magic) }

    /// Opens a store.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        try JournalStore(path: place, schema: schema, access: access)
    }

    /// A store's outline.
    public func outline(at place: String) throws -> StoreOutline { try JournalStore.outline(ofStoreAt: place) }
}
