import Foundation
@_spi(Engines) import HabitStore

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
            oddities.append(CoreDataOddity("modelCacheEmpty", "the file has a place for its model, and nothing in it"))
            return nil
        }
        let model = ArchivedModel(statement.blob(0))
        if model == nil {
            oddities.append(
                CoreDataOddity("modelCacheUnreadable", "the model that is kept in the file cannot be read")
            )
        }
        return model
    }
}
