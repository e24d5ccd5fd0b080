import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import Hashing

/// A Core Data or SwiftData file, opened for reading. The file, its log and its journal are copied at one moment, and only the copy is ever
/// opened as a database, so that the original does not change.
///
/// Not thread-safe: use it from one thread at a time.
public final class CoreDataFile {
    /// The path of the file.
    public let path: String
    /// The file's metadata table.
    public let metadata: CoreDataMetadata
    /// The entities of the file.
    public let model: CoreDataModel
    /// Missing, guessed or unusual things about the file.
    public let oddities: [CoreDataOddity]
    /// A summary of the persistent history; nil if the file has none.
    public let history: CoreDataHistory?
    /// Detects whether the files have changed since.
    let stamps: SourceStamps
    /// Detects whether this is an earlier state of the same file.
    let age: SourceAge
    let tables: StoreTables
    let connection: SourceConnection
    /// Values stored in separate files next to the store.
    let external: ExternalData
    private let snapshot: SourceSnapshot

    /// Opens the file in its current state.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound``, ``HabitStoreError/Code/notAStore`` if it is not a Core Data file,
    ///   ``HabitStoreError/Code/corrupt`` if it is truncated or damaged, ``HabitStoreError/Code/busy`` if it is being written to without a
    ///   pause.
    public init(path: String) throws {
        var opening = try SourceOpening(path)
        let connection = try opening.open()
        let tables = try StoreTables(connection)
        var oddities = opening.oddities
        let (metadata, found) = try CoreDataMetadata.read(connection, tables)
        oddities += found
        let model = try Self.readModel(connection, tables, metadata, &oddities)
        history = try CoreDataHistory(connection, tables, model)
        oddities += history?.oddities ?? []
        age = try SourceAge(connection, tables, history?.last, opening)
        self.tables = tables
        self.path = path
        external = ExternalData(besideStore: opening.resolvedPath)
        self.metadata = metadata
        self.model = model
        self.oddities = oddities
        self.connection = connection
        snapshot = opening.snapshot
        opening.snapshot.hide()
        stamps = opening.snapshot.stamps
    }

    /// A path next to the private copy, for a file that is removed together with the copy.
    public func scratchPath(_ name: String) -> String { snapshot.scratchPath(name) }

    /// Closes the file and removes the private copy.
    public func close() { connection.close() }

    private static func readModel(
        _ connection: SourceConnection,
        _ tables: StoreTables,
        _ metadata: CoreDataMetadata,
        _ oddities: inout [CoreDataOddity]
    ) throws -> CoreDataModel {
        var model: CoreDataModel?
        if let archived = try archivedModel(connection, tables, &oddities) {
            var builder = CachedModelBuilder(archived, tables)
            if let entities = builder.entities() {
                var cached = CoreDataModel(origin: .modelCache, entities: entities)
                var resolver = StorageResolver(connection, tables)
                try resolver.resolve(&cached)
                model = cached
                oddities += builder.oddities + resolver.oddities
            } else {
                oddities += builder.oddities
            }
        }
        if let model { return model }
        var builder = TableModelBuilder(connection, tables)
        let guessed = CoreDataModel(origin: .tables, entities: try builder.entities())
        oddities += builder.oddities
        return guessed
    }

    private static func archivedModel(
        _ connection: SourceConnection,
        _ tables: StoreTables,
        _ oddities: inout [CoreDataOddity]
    ) throws -> ArchivedModel? {
        guard tables.columns["Z_MODELCACHE"] != nil else { return nil }
        let statement = try connection.prepare("SELECT Z_CONTENT FROM Z_MODELCACHE WHERE Z_CONTENT NOT NULL")
        guard try statement.step() else {
            oddities.note("modelCacheEmpty", "the file has a place for its model, and nothing in it")
            return nil
        }
        let model = ArchivedModel(statement.blob(0))
        if model == nil {
            oddities.note("modelCacheUnreadable", "the model that is kept in the file cannot be read")
        }
        return model
    }
}

extension CoreDataFile {
    /// Identifies the version of the app's model: SHA-256 over the names, numbers and hashes of its entities. It changes when the app
    /// migrates the file, which may give all records new keys.
    var modelHash: String {
        var hash = SHA256()
        for entity in model.entities {
            let text = "\(entity.number) \(entity.name) \(metadata.entityHashes[entity.name] ?? "")\n"
            hash.update(data: Data(text.utf8))
        }
        return hash.finalize().prefix(16).hexadecimal
    }
}

/// The folder where Core Data stores a store's large values, one file each: `.NAME_SUPPORT/_EXTERNAL_DATA` next to the store, whose name
/// without its extension is `NAME`.
struct ExternalData: Sendable {
    private let folder: String

    /// - Parameter file: the path of the store, with symbolic links resolved.
    init(besideStore file: String) {
        let url = URL(fileURLWithPath: file)
        let name = url.deletingPathExtension().lastPathComponent
        folder = DurableFile.folder(of: file) + "/.\(name)_SUPPORT/_EXTERNAL_DATA"
    }

    /// The name of the file that holds a value; nil for an inline value. The column holds a 2 and then the name, a UUID, with or without a
    /// trailing zero byte.
    static func name(in bytes: Data) -> String? {
        guard bytes.first == 2, (37...38).contains(bytes.count), bytes.count == 37 || bytes.last == 0 else {
            return nil
        }
        let name = String(decoding: bytes.dropFirst().prefix(36), as: UTF8.self)
        return UUID(uuidString: name) == nil ? nil : name
    }

    /// The bytes of a file; nil if it is missing or unreadable. The name is a UUID, so the path cannot leave the folder.
    func read(_ name: String) -> Data? {
        (try? WholeFile.read("\(folder)/\(name)")).map { Data($0.bytes) }
    }
}

/// Tells a state of a Core Data file from an earlier one, by numbers that only grow and by the files themselves.
///
/// Core Data never reuses a key, so the number of records up to a given key can only fall; it counts the saves of each record; and it
/// numbers the transactions of its history. If none of these moved, the main file may still be the earlier one without its log.
struct SourceAge: Codable, Hashable, Sendable {
    /// The counts of one table.
    struct Table: Codable, Hashable, Sendable {
        /// The highest key ever assigned, according to the file.
        let highestKey: Int64
        /// The highest key known at that time, from the records or the file.
        let knownKey: Int64
        /// The number of records.
        let rows: Int64
        /// The number of saves of all records.
        let saves: Int64
    }

    let tables: [String: Table]
    /// The highest transaction number that the history ever had; nil without a history.
    let transaction: Int64?
    /// The first half of the main file's SHA-256.
    let mainFile: String
    /// The number of log frames read and the salts of the log; nil if there was no log.
    let frames: Int?
    let salts: String?

    init(_ connection: SourceConnection, _ tables: StoreTables, _ transaction: Int64?, _ opening: SourceOpening) throws
    {
        var found: [String: Table] = [:]
        for root in tables.entities where root.superentity == 0 {
            guard let table = tables.table(of: root.name), tables.has("Z_PK", in: table) else { continue }
            let saves = tables.has("Z_OPT", in: table) ? "CAST(total(Z_OPT) AS INTEGER)" : "0"
            let row = try connection.prepare(
                "SELECT count(*), coalesce(max(Z_PK), 0), \(saves) FROM \(SourceConnection.quoted(table))"
            )
            guard try row.step() else { continue }
            found[table] = Table(
                highestKey: root.highestKey,
                knownKey: max(root.highestKey, row.optionalInt(1) ?? 0),
                rows: row.optionalInt(0) ?? 0,
                saves: row.optionalInt(2) ?? 0
            )
        }
        self.tables = found
        // Pruning removes the transactions but not the number of the last one.
        let stated = try connection.int(
            "SELECT max(Z_MAX) FROM Z_PRIMARYKEY WHERE Z_ENT >= 16000 AND Z_NAME = 'TRANSACTION'"
        )
        self.transaction = transaction.map { max($0, stated ?? 0) }
        mainFile = try Self.digest(of: opening.snapshot)
        frames = opening.readLog?.committedFrames
        salts = opening.readLog.map { $0.salts }
    }

    /// The reason why this state is earlier than another; nil if nothing proves it.
    ///
    /// - Parameter connection: the database of this state.
    func sign(ofBeingOlderThan other: SourceAge, _ connection: SourceConnection) throws -> String? {
        if let last = other.transaction {
            let here = transaction ?? 0
            // The history is the best evidence: a state with more of it is later.
            if here > last { return nil }
            if here < last { return "its history ends at transaction \(here), and transaction \(last) was imported" }
        }
        for (name, then) in other.tables.sorted(by: { $0.key < $1.key }) {
            guard let now = tables[name] else { continue }
            if now.highestKey < then.highestKey {
                return "the highest key of \(name) is \(now.highestKey), and was \(then.highestKey)"
            }
            let known = try connection.int(
                "SELECT count(*) FROM \(SourceConnection.quoted(name)) WHERE Z_PK <= \(then.knownKey)"
            )
            if let known, known > then.rows {
                return "\(known - then.rows) records of \(name) are back that were deleted when it was imported last"
            }
            if known == then.rows, now.saves < then.saves {
                return
                    "the records of \(name) were saved \(now.saves) times, and \(then.saves) times when it was imported last"
            }
        }
        return withoutItsLog(other)
            ? "the file is the one that was imported last, but its -wal is missing or shorter than it was then"
            : nil
    }

    /// Whether the main file is unchanged and log frames that were read then are missing now.
    private func withoutItsLog(_ other: SourceAge) -> Bool {
        guard mainFile == other.mainFile, let read = other.frames, read > 0 else { return false }
        guard let frames, salts == other.salts else { return frames == nil }
        return frames < read
    }

    /// A hash of the main file's pages; bytes after the last page are not part of the database.
    private static func digest(of snapshot: SourceSnapshot) throws -> String {
        let length = snapshot.header.pageCount.map { off_t($0 * snapshot.header.pageSize) } ?? .max
        var hash = SHA256()
        try FileFailure.mappingErrors {
            try OpenFile(snapshot.path, O_RDONLY).forEachChunk(in: 0..<length) { chunk, _ in
                hash.update(bufferPointer: chunk)
                return true
            }
        }
        return hash.finalize().prefix(16).hexadecimal
    }
}
