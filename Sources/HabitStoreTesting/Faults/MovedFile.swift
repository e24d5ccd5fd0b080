import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// A store of an engine that keeps it in a file, whose file is moved while the store is open: what came of a write to it.
@_spi(Engines) public struct MovedFile<Store: FileBackedStore> {
    /// What came of it.
    public struct Outcome {
        /// What the write failed with; nil when it was acknowledged.
        public let code: HabitStoreError.Code?
        /// Whether the write's closure ran.
        public let hasRun: Bool
        /// The tags that are at the path after it, by a store that is opened anew and can be written to.
        public let names: [String]
        /// What that store's check found.
        public let findings: [StoreFinding]
    }

    private let path: String

    /// - Parameter path: where the store is made; its folder is the test's own.
    public init(path: String) { self.path = path }

    /// The name of the tag that the file holds before anything happens to it.
    public static var kept: String { "before" }

    /// Opens a store whose log is empty, so that the file alone is the store.
    public func open() throws -> Store {
        let store = try Store(path: path, schema: HabitSchema.current, access: .create)
        try store.save(Tag(name: Self.kept))
        store.close()
        return try Store(path: path, schema: HabitSchema.current, access: .readWrite)
    }

    /// A write that begins after it happened.
    public func write(after fate: FileFate) throws -> Outcome {
        let store = try open()
        try fate.befall(path)
        return try outcome(store) { _ in }
    }

    /// A write in whose closure it happens.
    public func write(during fate: FileFate) throws -> Outcome {
        try outcome(try open()) { transaction in
            try transaction.insert(Tag(name: "lost"))
            try fate.befall(path)
        }
    }

    private func outcome(_ store: Store, _ body: (any WriteTransaction) throws -> Void) throws -> Outcome {
        var hasRun = false
        var code: HabitStoreError.Code?
        do {
            try store.write { transaction in
                hasRun = true
                try body(transaction)
            }
        } catch let error as HabitStoreError {
            code = error.code
        }
        store.close()
        let present = try Store(path: path, schema: HabitSchema.current, access: .create)
        defer { present.close() }
        let names = try present.all(Tag.self).map(\.name)
        try present.save(Tag(name: "new"))
        return Outcome(code: code, hasRun: hasRun, names: names, findings: try present.check { _ in })
    }
}
