import Foundation
@_spi(Engines) import HabitStore

extension EngineName {
    /// LMDB.
    public static let lmdb: EngineName = "lmdb"
}

/// Opens users' stores in LMDB files.
public struct LMDBProvider: EngineProvider {
    /// Creates the provider.
    public init() {}
}

@_spi(Engines) extension LMDBProvider: FileEngineProvider {
    /// `lmdb`.
    public var name: EngineName { .lmdb }

    /// The file, its lock and its mark, and a map of 4 GiB.
    public var cost: EngineCost { EngineCost(fileDescriptors: 4, addressSpaceBytes: 4 << 30) }

    /// The lock, and the mark of an intact structure.
    public var sidecars: [String] { ["-lock", "-sound"] }

    /// None: a copy makes its own.
    public var copiedSidecars: [String] { [] }

    /// The offsets of LMDB's magic number: after the header of the first page, which is longer in LMDB 1.0.
    private static let magicOffsets = [16, 24]

    /// Whether a file has LMDB's magic number (`MDB_MAGIC`) after the header of the first page, in the byte order of the machine.
    public func recognizes(_ head: Data) -> Bool {
        Self.magicOffsets.contains { offset in
            let magic = head.dropFirst(offset).prefix(4)
            return magic.count == 4 && magic.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) } == 0xBEEF_C0DE
        }
    }

    /// Opens a store. If the system's library rejects an intact file, read-only access works without the library: see
    /// ``RescuedLMDBStore``.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        do {
            return try LMDBHabitStore(path: place, schema: schema, access: access)
        } catch let error as HabitStoreError where error.code == .engineUnavailable && access == .readOnly {
            return try RescuedLMDBStore(rescuing: place, schema: schema)
        }
    }

    /// A store's outline.
    public func outline(at place: String) throws -> StoreOutline {
        do {
            return try LMDBHabitStore.outline(ofStoreAt: place)
        } catch let error as HabitStoreError where error.code == .engineUnavailable {
            return try RescuedLMDBStore.outline(rescuing: place)
        }
    }
}
