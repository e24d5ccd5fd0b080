import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import Testing

/// `originalName`, as SwiftData's users write it.
@Suite("Names that a version before had")
struct RenamingTests {
    private enum Plan: SchemaMigrationPlan {
        static let schemas: [any VersionedSchema.Type] = [DishV1.self, DishV2.self, DishV3.self, DishV4.self]
        static let stages: [MigrationStage] = [
            .lightweight(fromVersion: DishV1.self, toVersion: DishV2.self),
            .lightweight(fromVersion: DishV2.self, toVersion: DishV3.self),
            .lightweight(fromVersion: DishV3.self, toVersion: DishV4.self),
        ]
    }

    private enum MisspeltAttribute: SchemaMigrationPlan {
        static let schemas: [any VersionedSchema.Type] = [DishV1.self, MinutsV2.self]
        static let stages: [MigrationStage] = [.lightweight(fromVersion: DishV1.self, toVersion: MinutsV2.self)]
    }

    private enum MisspeltEntity: SchemaMigrationPlan {
        static let schemas: [any VersionedSchema.Type] = [DishV1.self, DihsV2.self]
        static let stages: [MigrationStage] = [.lightweight(fromVersion: DishV1.self, toVersion: DihsV2.self)]
    }

    private func make(_ folder: TemporaryFolder, _ engine: MigratedEngine) throws -> String {
        let path = folder.path("store")
        let store = try engine.open(path, DishV1.schema)
        defer { store.close() }
        try store.write { transaction in
            for minutes in [10, 11, 12] { try transaction.insert(DishV1.Dish(minutes)) }
        }
        return path
    }

    /// The version after a renaming keeps the declaration. The migration looked for the first name again, did not find it, and every value was lost;
    /// two exchanged names were exchanged a second time.
    @Test(arguments: MigratedEngine.allCases)
    func aDeclarationThatIsCarriedOverGoesOnMeaningTheSame(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, engine)
        let rehearsal = try StoreMigrator(engine.store, path: path, plan: Plan.self).rehearse(in: folder.path)
        #expect(rehearsal.isSound)
        #expect(rehearsal.entities.map(\.missing) == [0] && rehearsal.entities.map(\.before) == [3])
        let outcome = try engine.migrate(path, Plan.self)
        #expect(outcome.steps.flatMap(\.drops).map(\.description) == [])
        let store = try engine.open(path, DishV4.schema, .readOnly)
        defer { store.close() }
        let meals = try store.all(DishV4.Meal.self)
        #expect(meals.map(\.minutes).sorted() == [10, 11, 12])
        #expect(meals.allSatisfy { $0.stars == 100 - $0.minutes })
    }

    /// A misspelt name was taken for a new one: 10, 11, 12 became 0, 0, 0, and the entity's records were lost.
    @Test(arguments: MigratedEngine.allCases)
    func aNameThatTheVersionBeforeDoesNotHaveIsRefused(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try make(folder, engine)
        let attribute = #expect(throws: HabitStoreError.self) { try engine.migrate(path, MisspeltAttribute.self) }
        #expect(attribute?.code == .schemaMismatch && attribute?.location.attribute == "cooking")
        #expect(
            attribute?.message.contains("write one of id, minutes, stars") == true,
            "\(String(describing: attribute))"
        )
        let entity = #expect(throws: HabitStoreError.self) { try engine.migrate(path, MisspeltEntity.self) }
        #expect(entity?.code == .schemaMismatch && entity?.location.entity == "Meal")
        let store = try engine.open(path, DishV1.schema, .readOnly)
        defer { store.close() }
        #expect(try store.all(DishV1.Dish.self).map(\.minutes).sorted() == [10, 11, 12])
        #expect(try folder.contents().keys.allSatisfy { !$0.contains("-at-") })
    }
}

/// A model with two numbers, whose names differ between versions.
private protocol TimedModel: PersistentModel {
    var id: UUID { get set }
    var minutes: Int { get set }
    var stars: Int { get set }

    init()
}

extension TimedModel {
    init(_ minutes: Int) {
        self.init()
        (self.minutes, stars) = (minutes, 100 - minutes)
    }

    init(row: inout AttributeReader) throws {
        self.init()
        (id, minutes, stars) = (try row.nextUUID(), try row.nextInt(), try row.nextInt())
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(minutes)
        row.append(stars)
    }
}

private enum DishV1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Dish.self]

    struct Dish: TimedModel {
        var (id, minutes, stars) = (UUID(), 0, 0)

        static let entity = EntityDescription(
            Dish.self,
            attributes: [.id(\Dish.id), .attribute("minutes", \Dish.minutes), .attribute("stars", \Dish.stars)]
        )
    }
}

/// Another name for the entity and for an attribute.
private enum DishV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let models: [any PersistentModel.Type] = [Meal.self]

    struct Meal: TimedModel {
        var (id, minutes, stars) = (UUID(), 0, 0)

        static let entity = EntityDescription(
            Meal.self,
            originalName: "Dish",
            attributes: [
                .id(\Meal.id), .attribute("cooking", \Meal.minutes, originalName: "minutes"),
                .attribute("stars", \Meal.stars),
            ]
        )
    }
}

/// The two attributes exchange their names.
private enum DishV3: VersionedSchema {
    static let versionIdentifier = Schema.Version(3, 0, 0)
    static let models: [any PersistentModel.Type] = [Meal.self]

    struct Meal: TimedModel {
        var (id, minutes, stars) = (UUID(), 0, 0)

        static let entity = EntityDescription(
            Meal.self,
            originalName: "Dish",
            attributes: [
                .id(\Meal.id), .attribute("stars", \Meal.minutes, default: -1, originalName: "cooking"),
                .attribute("cooking", \Meal.stars, default: -1, originalName: "stars"),
            ]
        )
    }
}

/// The same once more, with an index.
private enum DishV4: VersionedSchema {
    static let versionIdentifier = Schema.Version(4, 0, 0)
    static let models: [any PersistentModel.Type] = [Meal.self]

    struct Meal: TimedModel {
        var (id, minutes, stars) = (UUID(), 0, 0)

        static let entity = EntityDescription(
            Meal.self,
            originalName: "Dish",
            attributes: [
                .id(\Meal.id), .attribute("stars", \Meal.minutes, default: -1, originalName: "cooking"),
                .attribute("cooking", \Meal.stars, default: -1, originalName: "stars"),
            ],
            indexes: [.index(\Meal.minutes)]
        )
    }
}

private enum MinutsV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let models: [any PersistentModel.Type] = [Dish.self]

    struct Dish: TimedModel {
        var (id, minutes, stars) = (UUID(), 0, 0)

        static let entity = EntityDescription(
            Dish.self,
            attributes: [
                .id(\Dish.id), .attribute("cooking", \Dish.minutes, default: 0, originalName: "minuts"),
                .attribute("stars", \Dish.stars),
            ]
        )
    }
}

private enum DihsV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let models: [any PersistentModel.Type] = [Meal.self]

    struct Meal: TimedModel {
        var (id, minutes, stars) = (UUID(), 0, 0)

        static let entity = EntityDescription(
            Meal.self,
            originalName: "Dihs",
            attributes: [.id(\Meal.id), .attribute("minutes", \Meal.minutes), .attribute("stars", \Meal.stars)]
        )
    }
}
