import Foundation
@_spi(Engines) import HabitStore

extension EngineName {
    /// LMDB.
    public static let lmdb: EngineName = "lmdb"
}

/// LMDB, for whatever opens users' stores.
public struct LMDBProvider: EngineProvider {
    /// Offers the engine.
    public init() {}
}

@_spi(Engines) extension LMDBProvider: FileEngineProvider {
    /// `lmdb`.
    public var name: EngineName { .lmdb }

    /// The file, its lock, and the file that is remembered as sound; 4 GiB of map.
    public var cost: EngineCost { EngineCost(fileDescriptors: 4, addressSpaceBytes: 4 << 30) }

    /// The lock, and the file that says up to where the store was found sound.
    public var sidecars: [String] { ["-lock", "-sound"] }

    /// None: a copy makes its own.
    public var copiedSidecars: [String] { [] }

    /// Where LMDB's magic number stands: after the header of the first page, which is longer from LMDB 1.0 on.
    private static let magicOffsets = [16, 24]

    /// LMDB's magic number stands in the first page (`MDB_MAGIC` after the page's header, in the byte order of the machine).
    public func recognizes(_ head: Data) -> Bool {
        Self.magicOffsets.contains { offset in
            let magic = head.dropFirst(offset).prefix(4)
            return magic.count == 4 && magic.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) } == 0xBEEF_C0DE
        }
    }

    /// Opens a store. A sound file that the system's library refuses is read without the library, as far as it is only to be
    /// read: see ``RescuedLMDBStore``.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        do {
            return try LMDBHabitStore(path: place, schema: schema, access: access)
        } catch let error as HabitStoreError where error.code == .engineUnavailable && access == .readOnly {
            return try RescuedLMDBStore(rescuing: place, schema: schema)
        }
    }

    /// What a store says of itself.
    public func outline(at place: String) throws -> StoreOutline {
        do {
            return try LMDBHabitStore.outline(ofStoreAt: place)
        } catch let error as HabitStoreError where error.code == .engineUnavailable {
            return try RescuedLMDBStore.outline(rescuing: place)
        }
    }
}
