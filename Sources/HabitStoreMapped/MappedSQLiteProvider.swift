import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreSQLite
import Synchronization

extension EngineName {
    /// An app's own SQLite file.
    public static let mapped: EngineName = "mapped"
}

/// Opens users' stores in the app's own SQLite files, by a mapping.
public struct MappedSQLiteProvider: EngineProvider {
    /// Which rows are which records.
    public let mapping: TableMapping

    private let file: (@Sendable (_ user: String) -> String)?
    private let create: (@Sendable (_ path: String) throws -> Void)?
    private let adoptsFiles: Bool
    private let files = AppFiles()

    /// The users' files that this process knows of; any other is a copy.
    private final class AppFiles: Sendable {
        private let paths = Mutex<Set<String>>([])

        func note(_ path: String) { paths.withLock { _ = $0.insert(path) } }

        func has(_ path: String) -> Bool { paths.withLock { $0.contains(path) } }
    }

    /// Creates the provider.
    ///
    /// - Parameters:
    ///   - file: the absolute path of the file in which the app keeps a user's records; nil for `store.mapped` in the user's folder.
    ///   - create: creates the app's file with its tables at a path, as the app would for a new user, and leaves no connection open. With nil, only
    ///     the app creates files, and a user without one is `notFound`.
    ///   - adoptsFiles: whether opening a file of the app's for writing adopts it if it was not; otherwise it is refused.
    public init(
        mapping: TableMapping,
        file: (@Sendable (_ user: String) -> String)? = nil,
        create: (@Sendable (_ path: String) throws -> Void)? = nil,
        adoptsFiles: Bool = false
    ) {
        (self.mapping, self.file, self.create, self.adoptsFiles) = (mapping, file, create, adoptsFiles)
    }
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

    /// The app's file of the user.
    public func place(ofUser user: String, inFolder folder: String) -> String {
        guard let path = file?(user) else { return "\(folder)/store.\(name.rawValue)" }
        files.note(path)
        return path
    }

    /// Opens a user's file.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        guard place.hasPrefix("/") else {
            throw HabitStoreError(
                .invalidValue,
                "the path of an app's own file must be absolute, so that it is the same file wherever a program starts",
                at: .init(path: place)
            )
        }
        if access == .create, let create, identity(at: place) == nil { try make(place, schema, create) }
        do {
            return try openAdopted(place, schema, access)
        } catch let error as HabitStoreError where error.code == .notAStore && adoptsFiles && access != .readOnly {
            do {
                try MappedSQLiteStore.adopt(place, mapping: mapping, schema: schema)
            } catch let error as HabitStoreError where error.code == .unsupported {
                // Another process may have been faster.
                guard let store = try? openAdopted(place, schema, access) else { throw error }
                return store
            }
            return try openAdopted(place, schema, access)
        }
    }

    private func openAdopted(_ place: String, _ schema: Schema, _ access: StoreAccess) throws -> MappedSQLiteStore {
        try MappedSQLiteStore(
            path: place,
            mapping: mapping,
            schema: schema,
            options: MappedSQLiteStore.Options(isReadOnly: access == .readOnly)
        )
    }

    /// An app's file has more than the mapping names: other tables, columns, indexes, settings.
    public func requireMovable(_ place: String, _ what: String) throws {
        guard files.has(place) else { return }
        throw HabitStoreError(
            .unsupported,
            "this file is the app's own, with all that the mapping leaves out, and is not \(what) here; move or remove it in the app, and "
                + "repeat this",
            at: .init(path: place)
        )
    }

    /// Copies the store by SQLite's own means: opening and closing an open file would end this process's locks.
    public func copy(_ place: String, to target: String) throws {
        let connection = try SQLiteConnection(
            foreign: place,
            isWritable: false,
            enforcesForeignKeys: false,
            busyLimitSeconds: 5
        )
        defer { connection.close() }
        try connection.backup(to: target)
    }

    /// A store's outline.
    public func outline(at place: String) throws -> StoreOutline { try MappedSQLiteStore.outline(ofStoreAt: place) }

    /// Creates an app's file and adopts it under another name, so that no other process finds it half made.
    private func make(_ place: String, _ schema: Schema, _ create: (String) throws -> Void) throws {
        let draft = DurableFile.ownDraft(of: place)
        defer { for ending in [""] + sidecars { unlink(draft + ending) } }
        try create(draft)
        try MappedSQLiteStore.adopt(draft, mapping: mapping, schema: schema)
        try FileFailure.mappingErrors {
            // Another process may have been faster; its file is as good.
            if try DurableFile.publish(draft, as: place) { try DurableFile.synchronizeFolder(of: place) }
        }
    }
}
