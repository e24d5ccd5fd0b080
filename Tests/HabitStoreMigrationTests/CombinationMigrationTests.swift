import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import Testing

/// Seats that may repeat; the second version makes the combination of row and place unique.
private enum SeatsV1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Seat.self]

    struct Seat: PersistentModel {
        var id = UUID()
        var row: Int
        var place: String

        static let entity = EntityDescription(
            Seat.self,
            attributes: [.id(\Seat.id), .attribute("row", \Seat.row), .attribute("place", \Seat.place)]
        )

        init(_ row: Int, _ place: String) { (self.row, self.place) = (row, place) }

        init(row: inout AttributeReader) throws {
            (id, self.row, place) = (try row.nextUUID(), try row.nextInt(), try row.nextString())
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(self.row)
            row.append(place)
        }
    }
}

private enum SeatsV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let models: [any PersistentModel.Type] = [Seat.self]

    struct Seat: PersistentModel {
        var id = UUID()
        var row: Int
        var place: String

        static let entity = EntityDescription(
            Seat.self,
            attributes: [.id(\Seat.id), .attribute("row", \Seat.row), .attribute("place", \Seat.place)],
            uniqueness: [.unique(\Seat.row, \Seat.place)]
        )

        init(_ row: Int, _ place: String) { (self.row, self.place) = (row, place) }

        init(row: inout AttributeReader) throws {
            (id, self.row, place) = (try row.nextUUID(), try row.nextInt(), try row.nextString())
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(self.row)
            row.append(place)
        }
    }
}

private enum SeatsPlan: SchemaMigrationPlan {
    static let schemas: [any VersionedSchema.Type] = [SeatsV1.self, SeatsV2.self]
    static let stages: [MigrationStage] = [.lightweight(fromVersion: SeatsV1.self, toVersion: SeatsV2.self)]
}

@Suite("A combination that becomes unique")
struct CombinationMigrationTests {
    private func make(_ folder: TemporaryFolder, _ engine: MigratedEngine, _ seats: [SeatsV1.Seat]) throws -> String {
        let path = folder.path("store")
        let store = try engine.open(path, SeatsV1.schema)
        defer { store.close() }
        try store.insert(seats)
        return path
    }

    @Test(arguments: MigratedEngine.allCases)
    func isForbiddenFromThenOn(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, engine, [SeatsV1.Seat(1, "a"), SeatsV1.Seat(1, "b"), SeatsV1.Seat(2, "a")])
        try engine.migrate(path, SeatsPlan.self)
        let store = try engine.open(path, SeatsV2.schema, .readWrite)
        defer { store.close() }
        #expect(throws: HabitStoreError.self) { try store.save(SeatsV2.Seat(2, "a")) }
        try store.save(SeatsV2.Seat(2, "b"))
        #expect(try store.check { _ in } == [])
    }

    @Test(arguments: MigratedEngine.allCases)
    func stopsTheStageAtTwoRecordsThatHaveItAndNamesThem(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let seats = [SeatsV1.Seat(1, "a"), SeatsV1.Seat(1, "b"), SeatsV1.Seat(1, "a")]
        let path = try make(folder, engine, seats)
        let error = #expect(throws: HabitStoreError.self) { try engine.migrate(path, SeatsPlan.self) }
        #expect(error?.code == .uniqueViolation)
        #expect(error?.message.contains("row and place") == true)
        for seat in [seats[0], seats[2]] { #expect(error?.message.contains(seat.id.uuidString) == true) }
        let store = try engine.open(path, SeatsV1.schema, .readOnly)
        defer { store.close() }
        #expect(try store.all(SeatsV1.Seat.self).count == 3)
    }

    @Test func isPartOfAShapeAndOfItsHash() throws {
        let (old, new) = (StoredSchema(SeatsV1.schema), StoredSchema(SeatsV2.schema))
        #expect(SeatsV1.schema.shapeHash(ofEntity: 0) != SeatsV2.schema.shapeHash(ofEntity: 0))
        #expect(
            old.differences(from: new).map(\.description) == [
                "Seat.(row, place) is not unique in the store and is as declared"
            ]
        )
        #expect(
            new.differences(from: old).map(\.description) == [
                "Seat.(row, place) is unique in the store and is not as declared"
            ]
        )
        let untyped = Schema(shapes: new.entities, version: new.version)
        try untyped.validate()
        #expect(StoredSchema(untyped) == new)
        let text = try JSONEncoder().encode(new)
        #expect(try JSONDecoder().decode(StoredSchema.self, from: text) == new)
    }

    @Test(arguments: [[], ["row", "row"], ["row", "nothing"], ["links"]])
    func thatMakesNoSenseIsRefused(_ names: [String]) {
        let shape = EntityShape(
            name: "Seat",
            attributes: [.id, AttributeShape(name: "row", kind: .int), AttributeShape(name: "links", kind: .links)],
            uniqueness: [names]
        )
        let error = #expect(throws: HabitStoreError.self) { try Schema(shapes: [shape]).validate() }
        #expect(error?.code == .schemaMismatch)
        #expect(error?.message.contains("a unique combination of Seat") == true)
    }
}
