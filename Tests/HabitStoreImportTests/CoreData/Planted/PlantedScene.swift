import Foundation
@_spi(Engines) import HabitStore
import HabitStoreSQLite
import Testing

@testable import HabitStoreImport

/// An imported file, for planting a loss in the store or the files next to it.
final class PlantedScene {
    let fixture: CoreDataFixture
    let target: ImportTarget

    init(_ engine: TargetEngine = .sqlite) throws {
        fixture = try CoreDataFixture()
        try fixture.writeLibrary()
        try fixture.writeHistory()
        try fixture.writeLeftovers()
        target = try ImportTarget(engine)
        try target.update(from: fixture.path)
    }

    func account() throws -> CoreDataAccount {
        try target.with(fixture.path) { file, store in try CoreDataAccount(of: file, in: store) }
    }

    /// Changes one record of the store without a history entry.
    func edit(_ entity: String, _ key: Int64, _ attribute: String, _ value: Value) throws {
        try edit(entity, key) { description, values in
            values[try #require(description.position(of: attribute))] = value
        }
    }

    func edit(_ entity: String, _ key: Int64, _ change: (EntityDescription, inout [Value]) throws -> Void) throws {
        try withStore { store in
            let place = try store.schema.position(ofEntity: entity)
            let description = store.schema.entities[place]
            let id = try id(entity, key, store)
            try store.replicate { transaction in
                var values = try #require(try transaction.record(entity: place, id: id)).values(description.layout)
                try change(description, &values)
                try transaction.put(entity: place, id: id, try EncodedRecord(values, layout: description.layout))
            }
        }
    }

    func remove(_ entity: String, _ key: Int64) throws {
        try withStore { store in
            let place = try store.schema.position(ofEntity: entity)
            let id = try id(entity, key, store)
            try store.replicate { try $0.remove(entity: place, id: id) }
        }
    }

    func id(_ entity: String, _ key: Int64) throws -> UUID {
        var found: UUID?
        try withStore { found = try id(entity, key, $0) }
        return try #require(found)
    }

    private func id(_ entity: String, _ key: Int64, _ store: any ReplicableStore) throws -> UUID {
        let filter = FilterExpression.compare(
            .equal,
            .attribute(AttributePath("coreDataKey")),
            .literal(.int(key))
        )
        return try #require(try store.read { try $0.records(RecordQuery(entity: entity, filter: filter)) }.first).id
    }

    private func withStore(_ body: (any UserStoreBackend) throws -> Void) throws {
        try target.with(fixture.path) { _, store in try body(store) }
    }

    /// Rewrites the lines of a file next to the store; lines for which `change` returns nil are removed.
    func rewrite(_ suffix: String, _ change: (String) -> String?) throws {
        let path = target.path + suffix
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
        let changed = lines.compactMap(change)
        #expect(changed != lines, "nothing was planted in \(suffix)")
        try Data((changed.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path))
    }

    func drop(_ suffix: String, _ text: String) throws {
        try rewrite(suffix) { $0.contains(text) ? nil : $0 }
    }
}
