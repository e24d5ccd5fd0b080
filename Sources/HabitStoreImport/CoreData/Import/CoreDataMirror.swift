import Foundation
@_spi(Engines) import HabitStore

/// Keeps a store equal to a Core Data file that its app goes on writing.
///
/// Used by one thread at a time.
public final class CoreDataMirror {
    /// Brings one state of the file into the store.
    public typealias Update = (
        CoreDataFile, CoreDataImporter.Options, (Int, Int) throws -> Void
    ) throws -> CoreDataImportReport

    private let path: String
    private let apply: Update
    private var seen: SourceStamps?

    /// Prepares a mirror.
    public init(path: String, _ apply: @escaping Update) {
        self.path = path
        self.apply = apply
    }

    /// The update of a store whose schema is derived from the file's model. It is opened for each update and closed behind
    /// it, so that others can use it meanwhile.
    ///
    /// - Parameter open: opens the store, with ``CoreDataTarget/schema(for:outline:)``.
    public static func derived(
        _ open: @escaping (CoreDataFile) throws -> any UserStoreBackend
    ) -> Update {
        { file, options, progress in
            let store = try open(file)
            defer { store.close() }
            return try CoreDataImporter(file, into: store, options).run(progress: progress)
        }
    }

    /// Brings the store to the file's state, unless the file was not touched since the last time.
    ///
    /// - Returns: what was done; nil when the file was not touched.
    /// - Throws: what opening the file and importing it throw.
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
