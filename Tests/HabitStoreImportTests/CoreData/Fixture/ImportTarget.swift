import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreLMDB
@_spi(Engines) import HabitStoreSQLite
import HabitStoreTesting

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
        let file = try CoreDataFile(path: path)
        defer { file.close() }
        let store = try open(file)
        defer { store.close() }
        return try CoreDataImporter(file, into: store, options).run()
    }

    /// Every record, by entity, identifier and attribute.
    func contents(of path: String) throws -> [String: [String: String]] {
        let file = try CoreDataFile(path: path)
        defer { file.close() }
        let store = try open(file)
        defer { store.close() }
        return try store.contents()
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
