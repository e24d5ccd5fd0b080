import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport

/// A store whose records are rows of an app's own SQLite file, served in place by a mapping.
///
/// The file is prepared once by ``adopt(_:mapping:schema:options:)``, and restored by ``unadopt(_:)``. In between, the app's old code may
/// continue to write: its changes become part of the history, with the author `app`.
public final class MappedSQLiteStore: MaintainableStore, ReplicableStore {
    /// How to open or adopt a file.
    public struct Options: Sendable {
        /// Whether to open it read-only.
        public var isReadOnly = false
        /// The identity of a store that is adopted; nil for a random one.
        public var identity: UUID?
        /// How long a transaction waits for another thread or process before it throws ``HabitStoreError/Code/busy``, in seconds.
        public var busyLimitSeconds: Double
        /// The clock that stamps history transactions.
        public var now: @Sendable () -> Date

        /// Creates options, by default those for reading and writing.
        public init(
            isReadOnly: Bool = false,
            identity: UUID? = nil,
            busyLimitSeconds: Double = 5,
            now: @escaping @Sendable () -> Date = { Date() }
        ) {
            self.isReadOnly = isReadOnly
            self.identity = identity
            self.busyLimitSeconds = busyLimitSeconds
            self.now = now
        }
    }

    /// The store's semantics on top of the engine.
    @_spi(Engines) public let core: EngineStore<MappedSQLiteEngine>

    /// Opens an adopted file.
    ///
    /// - Parameter mapping: the one that the file was adopted with.
    /// - Throws: ``HabitStoreError/Code/notAStore`` for a file that was not adopted, ``HabitStoreError/Code/schemaMismatch`` for another schema
    ///   or mapping, or if the app changed the tables so that its writes are not noticed; ``HabitStoreError/Code/notFound``,
    ///   ``HabitStoreError/Code/newerVersion``, ``HabitStoreError/Code/busy``, ``HabitStoreError/Code/corrupt``.
    public init(path: String, mapping: TableMapping, schema: Schema, options: Options = Options()) throws {
        try schema.validate()
        let engine = try MappedSQLiteEngine(
            path: path,
            mapping: mapping,
            schema: schema,
            isWritable: !options.isReadOnly,
            busyLimitSeconds: options.busyLimitSeconds,
            now: options.now
        )
        do {
            core = try EngineStore(
                engine,
                schema: schema,
                isReadOnly: options.isReadOnly,
                identity: options.identity,
                now: options.now
            )
        } catch {
            engine.close()
            throw error
        }
    }

    /// Makes an app's file a store: checks that the mapping fits, creates the store's tables and triggers next to the app's, and gives each row
    /// an identifier. The app's tables, journal mode and settings are not changed.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` with everything that does not fit, ``HabitStoreError/Code/unsupported`` for what cannot be
    ///   served exactly, or if the file is a store already.
    /// - Returns: which rows became which records.
    @discardableResult
    public static func adopt(
        _ path: String,
        mapping: TableMapping,
        schema: Schema,
        options: Options = Options()
    ) throws -> TableMappingReport {
        try schema.validate()
        let report = try AdoptedFile.adopt(path, mapping, schema, busyLimitSeconds: options.busyLimitSeconds)
        do {
            // The first opening writes the bookkeeping and the digests.
            try MappedSQLiteStore(path: path, mapping: mapping, schema: schema, options: options).close()
        } catch {
            do {
                try unadopt(path)
            } catch let failure {
                throw HabitStoreError(
                    .busy,
                    "the file was adopted, but its first opening failed (\(error)), and so did taking that back (\(failure)): opening it "
                        + "completes the adoption, and unadopting it takes it back",
                    at: .init(path: path)
                )
            }
            throw error
        }
        return report
    }

    /// Removes the store's tables and triggers from an app's file. History and identifiers are lost; the app's tables stay unchanged.
    ///
    /// - Parameter allowsOutdated: whether the app gets the file back although another store of the user has newer records.
    /// - Throws: ``HabitStoreError/Code/notAStore`` for a file that was not adopted, ``HabitStoreError/Code/notAuthoritative`` for one whose
    ///   records are those of another store.
    public static func unadopt(_ path: String, allowsOutdated: Bool = false) throws {
        try AdoptedFile.unadopt(path, allowsOutdated: allowsOutdated, busyLimitSeconds: 5)
    }

    /// A date with as many digits of a second as a stored text has: 3 for the form `date grdb`. What such a text holds is equal to this.
    public static func rounded(_ date: Date, toPlaces digits: Int) -> Date {
        let scale = pow(10, Double(digits))
        return Date(timeIntervalSinceReferenceDate: (date.timeIntervalSinceReferenceDate * scale).rounded() / scale)
    }

    /// Writes down in the history what other programs have changed since the last transaction. Each read and write does this first; a
    /// program that follows the history without reading calls this now and then.
    ///
    /// - Returns: whether there was anything.
    @discardableResult
    public func absorb() throws -> Bool {
        try liveQueries.follow { try core.engine.absorb() }
    }

    /// The outline of the store in a file, whatever its schema.
    public static func outline(ofStoreAt path: String) throws -> StoreOutline {
        let engine = try MappedSQLiteEngine(
            path: path,
            mapping: nil,
            schema: Schema([]),
            isWritable: false,
            busyLimitSeconds: 5,
            now: { Date() }
        )
        defer { engine.close() }
        return try engine.read { try StoreOutline($0, path: path) }
    }
}

@_spi(Engines) extension MappedSQLiteStore: EngineBackedStore {}
