import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import Testing

/// An app's lightweight stage left out an attribute by mistake. The values were gone for every user, without a warning and without a copy, because
/// only stages with hooks made one.
@Suite("Stages that drop something")
struct DroppingTests {
    private enum Plan: SchemaMigrationPlan {
        static let schemas: [any VersionedSchema.Type] = [ShopV1.self, ShopV2.self]
        static let stages: [MigrationStage] = [.lightweight(fromVersion: ShopV1.self, toVersion: ShopV2.self)]
    }

    private func make(_ folder: TemporaryFolder, _ engine: MigratedEngine) throws -> String {
        let path = folder.path("store")
        let store = try engine.open(path, ShopV1.schema)
        defer { store.close() }
        try store.write { transaction in
            // One has the default, one nil, and one its own values.
            try transaction.insert(ShopV1.Item(price: 0, label: "a"))
            try transaction.insert(ShopV1.Item(price: 5, label: nil))
            try transaction.insert(ShopV1.Item(price: 7, label: "c"))
            try transaction.insert(ShopV1.Coupon(code: "x"))
            try transaction.insert(ShopV1.Coupon(code: "y"))
        }
        return path
    }

    private let expected = [
        "Coupon, with 2 records", "Item.label, with a value in 2 records", "Item.price, with a value in 2 records",
    ]

    @Test(arguments: MigratedEngine.allCases)
    func aRehearsalSaysWhatWouldGoAndChangesNothing(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, engine)
        let before = try folder.contents()[URL(fileURLWithPath: path).lastPathComponent]
        let rehearsal = try StoreMigrator(engine.store, path: path, plan: Plan.self).rehearse(in: folder.path)
        #expect(rehearsal.outcome.steps.flatMap(\.drops).map(\.description).sorted() == expected)
        #expect(rehearsal.isSound)
        #expect(rehearsal.outcome.backups == [])
        #expect(try folder.contents()[URL(fileURLWithPath: path).lastPathComponent] == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.contains("-at-") })
    }

    @Test(arguments: MigratedEngine.allCases)
    func aCopyIsKeptOfTheStoreAsItWas(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, engine)
        let outcome = try engine.migrate(path, Plan.self)
        #expect(outcome.steps.flatMap(\.drops).map(\.description).sorted() == expected)
        #expect(outcome.backups == ["\(path)-1.0.0-at-1"])
        let copy = try engine.open("\(path)-1.0.0-at-1", ShopV1.schema, .readOnly)
        defer { copy.close() }
        #expect(Set(try copy.all(ShopV1.Item.self).map(\.price)) == [0, 5, 7])
        #expect(Set(try copy.all(ShopV1.Coupon.self).map(\.code)) == ["x", "y"])
    }

    /// An app's update came between two launches that fill its store: no launch could open it any more. It begins again; an unfinished copy does not.
    @Test(arguments: MigratedEngine.allCases)
    func anImportThatIsNotFinishedBeginsAgainWithTheNewSchema(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, engine)
        func mark(_ state: String) throws {
            let store = try engine.open(path, ShopV1.schema, .readWrite)
            defer { store.close() }
            try store.replicate {
                try $0.setRole(.backfilling, epoch: 0)
                try $0.setBackfillState(state)
            }
        }
        try mark(#"{"entity":1}"#)
        #expect(throws: HabitStoreError.self) { try engine.migrate(path, Plan.self) }
        let state = UnfinishedImport(kind: "tables").state
        try mark(state)
        try engine.migrate(path, Plan.self)
        let store = try engine.open(path, ShopV2.schema, .readWrite)
        defer { store.close() }
        try store.replicaRead { replica in
            let (role, found) = (try replica.information().role, try replica.backfillState())
            #expect(role == .backfilling && found == state)
            let counts = try store.schema.entities.indices.map { try replica.count(entity: $0) }
            #expect(counts.allSatisfy { $0 == 0 })
        }
        let findings = try store.check { _ in } + store.checkDigests()
        #expect(findings.isEmpty, "\(findings)")
    }

    /// When names that not every engine accepts became invalid, stores with such names existed on engines that accept them.
    @Test func aStoreWithANameThatIsRefusedNowCanBeGivenAnother() throws {
        enum Renaming: SchemaMigrationPlan {
            static let schemas: [any VersionedSchema.Type] = [LogV1.self, LogV2.self]
            static let stages: [MigrationStage] = [.lightweight(fromVersion: LogV1.self, toVersion: LogV2.self)]
        }
        #expect(throws: HabitStoreError.self) { try LogV1.schema.validate() }
        let folder = try TemporaryFolder()
        let path = folder.path("store")
        let store = try MigratedEngine.sqlite.open(path, LogV1.earlierSchema)
        try store.insert([LogV1.Line(), LogV1.Line()])
        store.close()
        try MigratedEngine.sqlite.migrate(path, Renaming.self)
        let renamed = try MigratedEngine.sqlite.open(path, LogV2.schema, .readOnly)
        defer { renamed.close() }
        #expect(try renamed.all(LogV2.Line.self).count == 2)
        #expect(try renamed.check { _ in } == [])
    }
}

private enum ShopV1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Item.self, Coupon.self]

    struct Item: PersistentModel {
        var id = UUID()
        var price: Int
        var label: String?

        static let entity = EntityDescription(
            Item.self,
            attributes: [
                .id(\Item.id), .attribute("price", \Item.price, default: 0), .attribute("label", \Item.label),
            ]
        )

        init(price: Int, label: String?) { (self.price, self.label) = (price, label) }

        init(row: inout AttributeReader) throws {
            (id, price, label) = (try row.nextUUID(), try row.nextInt(), try row.nextOptionalString())
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(price)
            row.append(label)
        }
    }

    struct Coupon: PersistentModel {
        var id = UUID()
        var code: String

        static let entity = EntityDescription(
            Coupon.self,
            attributes: [.id(\Coupon.id), .attribute("code", \Coupon.code)]
        )

        init(code: String) { self.code = code }

        init(row: inout AttributeReader) throws { (id, code) = (try row.nextUUID(), try row.nextString()) }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(code)
        }
    }
}

private enum ShopV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let models: [any PersistentModel.Type] = [Item.self]

    struct Item: PersistentModel {
        var id = UUID()

        static let entity = EntityDescription(Item.self, attributes: [.id(\Item.id)])

        init(row: inout AttributeReader) throws { id = try row.nextUUID() }

        func write(to row: inout AttributeWriter) throws { row.append(id) }
    }
}

private enum LogV1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Line.self]

    struct Line: PersistentModel {
        var id = UUID()

        static let entity = EntityDescription(Line.self, name: "history", attributes: [.id(\Line.id)])

        init() {}

        init(row: inout AttributeReader) throws { id = try row.nextUUID() }

        func write(to row: inout AttributeWriter) throws { row.append(id) }
    }
}

private enum LogV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let models: [any PersistentModel.Type] = [Line.self]

    struct Line: PersistentModel {
        var id = UUID()

        static let entity = EntityDescription(
            Line.self,
            name: "Line",
            originalName: "history",
            attributes: [.id(\Line.id)]
        )

        init(row: inout AttributeReader) throws { id = try row.nextUUID() }

        func write(to row: inout AttributeWriter) throws { row.append(id) }
    }
}
