import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreLMDB
@_spi(Engines) import HabitStoreSQLite
import HabitStoreTesting
import ShadowVerifier
import Testing

@testable import HabitStoreImport

/// The engine of an import's target store.
enum TargetEngine: String, CaseIterable, Sendable {
    case sqlite, lmdb, memory

    static let onDisk: [TargetEngine] = [.sqlite, .lmdb]
}

/// A folder with a target store.
struct ImportTarget {
    private let temporary: TemporaryFolder
    let engine: TargetEngine
    var folder: URL { temporary.url }
    var path: String { temporary.path("target.\(engine.rawValue)") }

    init(_ engine: TargetEngine) throws {
        self.engine = engine
        temporary = try TemporaryFolder()
    }

    /// Opens the target for a file, or creates it.
    func open(_ file: CoreDataFile) throws -> any UserStoreBackend {
        switch engine {
        case .sqlite:
            let outline = try outline { try SQLiteHabitStore.outline(ofStoreAt: path) }
            return try SQLiteHabitStore(path: path, schema: CoreDataTarget.schema(for: file, outline: outline))
        case .lmdb:
            let outline = try outline { try LMDBHabitStore.outline(ofStoreAt: path) }
            return try LMDBHabitStore(path: path, schema: CoreDataTarget.schema(for: file, outline: outline))
        case .memory: return try InMemoryHabitStore(schema: CoreDataTarget.schema(for: file))
        }
    }

    /// Nil if there is no store yet, or if its creation was killed.
    private func outline(_ read: () throws -> StoreOutline) throws -> StoreOutline? {
        do {
            return try read()
        } catch let error as HabitStoreError where [.notFound, .notAStore].contains(error.code) {
            return nil
        }
    }

    /// Imports the current state of a file.
    @discardableResult
    func update(
        from path: String,
        _ options: CoreDataImporter.Options = .init()
    ) throws -> CoreDataImportReport {
        try with(path) { file, store in try CoreDataImporter(file, into: store, options).run() }
    }

    /// Opens a file and its target, runs `body`, and closes both.
    func with<R>(_ path: String, _ body: (CoreDataFile, any UserStoreBackend) throws -> R) throws -> R {
        let file = try CoreDataFile(path: path)
        defer { file.close() }
        let store = try open(file)
        defer { store.close() }
        return try body(file, store)
    }

    /// Every record, by entity, identifier and attribute.
    func contents(of path: String) throws -> [String: [String: String]] {
        try with(path) { _, store in try store.contents() }
    }

    /// Compares the file itself with the target.
    func verification(of path: String) throws -> VerificationReport {
        try with(path) { file, store in
            let witness = try CoreDataWitness.store(of: file, for: store)
            return try ShadowVerifier(.init(name: "file", store: witness), .init(name: "store", store: store)).run()
        }
    }

    /// The number of the file's last transaction that the target has; 0 for none.
    func transaction(of path: String) throws -> Int64 {
        try with(path) { file, store in try CoreDataTarget.position(in: store, of: file)?.transaction ?? 0 }
    }

    /// Expects a sound store with one transaction for each of the app's, in addition to those of the import itself.
    func expectHistory(of app: FixtureApp, _ seed: UInt64) throws {
        try with(app.fixture.path) { _, store in
            let authors = try store.read { try $0.fetchHistory(after: .zero) }.map(\.author)
            #expect(authors.filter { $0 != "Core Data import" }.count == app.transaction, "seed \(seed)")
            #expect(try store.check { _ in }.isEmpty, "seed \(seed)")
        }
    }

    /// The values of the file that the target does not account for.
    func unaccounted(of path: String) throws -> [String] {
        try with(path) { file, store in try CoreDataAccount(of: file, in: store).unaccounted.map(\.message) }
    }
}

extension [String: [String: String]] {
    /// The differing records, and their differing attributes.
    func differences(from other: Self) -> [String] {
        Set(keys).union(other.keys).sorted().compactMap { key in
            guard let here = self[key], let there = other[key] else {
                return "\(key) is only \(self[key] == nil ? "there" : "here")"
            }
            let names = here.keys.filter { here[$0] != there[$0] }.sorted()
            return names.isEmpty
                ? nil
                : "\(key): " + names.map { "\($0) \(here[$0] ?? "") and \(there[$0] ?? "")" }.joined(separator: ", ")
        }
    }
}

extension ReplicableStore {
    /// Every record, by entity and identifier, with its attributes as text.
    func contents() throws -> [String: [String: String]] {
        try replicaRead { replica in
            var result: [String: [String: String]] = [:]
            for (position, entity) in schema.entities.enumerated() {
                try replica.enumerate(entity: position, after: nil) { id, record in
                    let values = try record.values(entity.layout)
                    var words: [String: String] = [:]
                    for (attribute, value) in zip(entity.attributes, values) {
                        words[attribute.name] = value.description
                    }
                    result["\(entity.name) \(id)"] = words
                    return true
                }
            }
            return result
        }
    }
}
