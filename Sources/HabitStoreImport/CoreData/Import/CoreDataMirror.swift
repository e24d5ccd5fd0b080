import Foundation
@_spi(Engines) import HabitStore

/// Keeps a store equal to a Core Data file while its app continues to write to it.
///
/// Not thread-safe: use it from one thread at a time.
public final class CoreDataMirror {
    /// Imports one state of the file into the store.
    public typealias Update = (
        CoreDataFile, CoreDataImporter.Options, (Int, Int) throws -> Void
    ) throws -> CoreDataImportReport

    private let path: String
    private let apply: Update
    private var seen: SourceStamps?

    /// Creates a mirror.
    public init(path: String, _ apply: @escaping Update) {
        self.path = path
        self.apply = apply
    }

    /// An update for a store whose schema is derived from the file's model. It opens the store for each update and closes it afterwards, so
    /// that others can use it in between.
    ///
    /// - Parameter open: opens the store with ``CoreDataTarget/schema(for:outline:)``.
    public static func derived(
        _ open: @escaping (CoreDataFile) throws -> any UserStoreBackend
    ) -> Update {
        { file, options, progress in
            let store = try open(file)
            defer { store.close() }
            return try CoreDataImporter(file, into: store, options).run(progress: progress)
        }
    }

    /// Updates the store, unless the file is unchanged since the last time.
    ///
    /// - Returns: the report; nil if the file is unchanged.
    /// - Throws: errors from opening and importing the file.
    public func update(
        _ options: CoreDataImporter.Options = CoreDataImporter.Options(),
        progress: (Int, Int) throws -> Void = { _, _ in }
    ) throws -> CoreDataImportReport? {
        if let seen, let now = SourceStamps(try WholeFile.resolved(path)), now == seen { return nil }
        let file = try CoreDataFile(path: path)
        defer { file.close() }
        let report = try apply(file, options, progress)
        seen = file.stamps
        return report
    }
}
