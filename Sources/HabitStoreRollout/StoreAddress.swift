import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite

/// Where a store is and which engine it needs: `sqlite:PATH`, `lmdb:PATH`, or a path whose kind is recognised.
public struct StoreAddress: Sendable, Hashable, CustomStringConvertible {
    /// The engine.
    public let engine: EngineName
    /// The file.
    public let path: String

    /// Names a store.
    public init(_ engine: EngineName, path: String) {
        self.engine = engine
        self.path = path
    }

    /// `sqlite:PATH` or `lmdb:PATH`.
    public var description: String { "\(engine.rawValue):\(path)" }

    /// Reads an address.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an empty path, ``HabitStoreError/Code/notFound`` for one
    ///   without a prefix at which there is nothing, and ``HabitStoreError/Code/notAStore`` for one that holds neither
    ///   kind.
    public init(parsing text: String) throws {
        let named = EngineName.allCases.first { text.hasPrefix($0.rawValue + ":") }
        let path = named.map { String(text.dropFirst($0.rawValue.count + 1)) } ?? text
        guard !path.isEmpty else {
            throw HabitStoreError(.invalidValue, "the store's path is empty; name a file, as sqlite:PATH or lmdb:PATH")
        }
        self.init(try named ?? Self.recognise(path), path: path)
    }

    /// Opens the store. A sound LMDB file that the system's library refuses is read without the library, as far as it is only
    /// to be read: see ``HabitStoreLMDB/RescuedLMDBStore``.
    ///
    /// - Throws: a typed error for everything that can be wrong with the file.
    public func open(_ access: StoreAccess, schema: Schema = HabitSchema.current) throws -> any UserStoreBackend {
        switch engine {
        case .sqlite: return try SQLiteHabitStore(path: path, schema: schema, access: access)
        case .lmdb:
            do {
                return try LMDBHabitStore(path: path, schema: schema, access: access)
            } catch let error as HabitStoreError where error.code == .engineUnavailable && access == .readOnly {
                return try RescuedLMDBStore(rescuing: path, schema: schema)
            }
        }
    }

    /// Where LMDB's magic number stands: behind the header of the first page, which is longer from LMDB 1.0 on.
    private static let magicOffsets = [16, 24]

    /// SQLite's header says so at the file's beginning; LMDB's magic number stands in its first page
    /// (`MDB_MAGIC` behind the page header, in the byte order of the machine).
    private static func recognise(_ path: String) throws -> EngineName {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw HabitStoreError(.notFound, "there is no store here", at: .init(path: path))
        }
        guard !isDirectory.boolValue else {
            throw HabitStoreError(.notAStore, "this is a folder; name the store's file in it", at: .init(path: path))
        }
        // Reading from a pipe would wait for ever.
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw HabitStoreError(.notAStore, "this is a device or a pipe; name a file", at: .init(path: path))
        }
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw HabitStoreError(.permissionDenied, "the file cannot be read", at: .init(path: path))
        }
        defer { try? file.close() }
        let head: Data
        do {
            head = try file.read(upToCount: 32) ?? Data()
        } catch {
            throw HabitStoreError(.inputOutput, "the file cannot be read", at: .init(path: path), underlying: error)
        }
        if head.starts(with: Data("SQLite format 3\0".utf8)) { return .sqlite }
        for offset in magicOffsets {
            let magic = head.dropFirst(offset).prefix(4)
            if magic.count == 4, magic.withUnsafeBytes({ $0.loadUnaligned(as: UInt32.self) }) == 0xBEEF_C0DE {
                return .lmdb
            }
        }
        throw HabitStoreError(
            .notAStore,
            head.isEmpty ? "the file is empty" : "the file is neither a SQLite nor an LMDB store",
            at: .init(path: path)
        )
    }
}

/// What the rollout needs of a store.
public typealias UserStoreBackend = MaintainableStore & ReplicableStore
