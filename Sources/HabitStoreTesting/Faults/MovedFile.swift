import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// A store whose file is moved while it is open, and the outcome of a write to it.
@_spi(Engines) public struct MovedFile<Store: FileBackedStore> {
    /// The outcome of a write.
    public struct Outcome {
        /// The code of the write's error; nil if the write was acknowledged.
        public let code: HabitStoreError.Code?
        /// Whether the write's closure ran.
        public let hasRun: Bool
        /// The tags at the path afterwards, read by a store that was opened again and accepts writes.
        public let names: [String]
        /// The findings of that store's check.
        public let findings: [StoreFinding]
    }

    private let path: String

    /// - Parameter path: the store's path; its folder belongs to the test.
    public init(path: String) { self.path = path }

    /// The name of the tag that the file contains before it is moved.
    public static var kept: String { "before" }

    /// Opens a store with an empty log, so that the file alone is the store.
    public func open() throws -> Store {
        let store = try Store(path: path, schema: HabitSchema.current, access: .create)
        try store.save(Tag(name: Self.kept))
        store.close()
        return try Store(path: path, schema: HabitSchema.current, access: .readWrite)
    }

    /// Writes after the file was moved.
    public func write(after fate: FileFate) throws -> Outcome {
        let store = try open()
        try fate.befall(path)
        return try outcome(store) { _ in }
    }

    /// Moves the file in the closure of a write.
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
