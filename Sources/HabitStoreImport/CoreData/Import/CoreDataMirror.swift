import Foundation
import HabitStore

/// Keeps a store equal to a Core Data file that its app goes on writing.
///
/// Used by one thread at a time. The store is opened anew for each update and closed behind it, so that others can use it
/// meanwhile.
public final class CoreDataMirror {
    private let path: String
    private let open: (CoreDataFile) throws -> any MaintainableStore & ReplicableStore
    private var seen: SourceStamps?

    /// Prepares a mirror.
    ///
    /// - Parameter open: opens the store, with ``CoreDataTarget/schema(for:outline:)``.
    public init(path: String, open: @escaping (CoreDataFile) throws -> any MaintainableStore & ReplicableStore) {
        self.path = path
        self.open = open
    }

    /// Brings the store to the file's state, unless the file was not touched since the last time.
    ///
    /// - Returns: what was done; nil when the file was not touched.
    /// - Throws: what opening the file and importing it throw.
    public func update(
        _ options: CoreDataImporter.Options = CoreDataImporter.Options(),
        progress: (Int, Int) throws -> Void = { _, _ in }
    ) throws -> CoreDataImportReport? {
        if let seen, let now = SourceStamps(path), now == seen { return nil }
        let file = try CoreDataFile(path: path)
        defer { file.close() }
        let store = try open(file)
        defer { store.close() }
        let report = try CoreDataImporter(file, into: store, options).run(progress: progress)
        seen = file.stamps
        return report
    }
}
