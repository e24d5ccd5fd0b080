import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import ShadowVerifier
import Testing

/// Stores of older versions, written by frozen writers, and the expected results of migrating them.
@Suite("Fixtures of older schema versions")
struct PastFixtureTests {
    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("fixtures")

    private func copy(_ version: Int, _ engine: MigratedEngine, _ folder: TemporaryFolder) throws -> String {
        let path = folder.path("v\(version).\(engine.rawValue)")
        let name = "v\(version).\(engine.rawValue)"
        try FileManager.default.copyItem(atPath: Self.fixtures.appendingPathComponent(name).path, toPath: path)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    @Test(arguments: [1, 2])
    func bothEnginesComeToIdenticalDigests(version: Int) throws {
        let folder = try TemporaryFolder()
        let expected = try Expectations.load(
            path: Self.fixtures.appendingPathComponent("v\(version).expected.json").path
        )
        var digests: [[RecordDigest]] = []
        for engine in MigratedEngine.allCases {
            let path = try copy(version, engine, folder)
            let outcome = try engine.migrate(path, HabitMigrationPlan.self)
            #expect(outcome.steps.count == 3 - version)
            let store = try engine.open(path, HabitSchema.current, .readOnly)
            defer { store.close() }
            digests.append(try store.digests())
            #expect(try store.currentToken().rawValue == expected.token)
            for (position, entity) in store.schema.entities.enumerated() {
                #expect(try store.replicaRead { try $0.count(entity: position) } == expected.counts[entity.name])
            }
            let findings = Dictionary(grouping: try store.check { _ in } + store.checkDigests(), by: \.kind)
            #expect(findings.mapValues(\.count) == expected.anomalies)
        }
        #expect(digests[0] == digests[1])
    }

    /// A text becomes the tags that a person would read in it.
    @Test func theTagsAreThoseBetweenTheCommas() throws {
        let folder = try TemporaryFolder()
        let path = try copy(1, .sqlite, folder)
        try MigratedEngine.sqlite.migrate(path, HabitMigrationPlan.self)
        let store = try MigratedEngine.sqlite.open(path, HabitSchema.current, .readOnly)
        defer { store.close() }
        let names = Dictionary(uniqueKeysWithValues: try store.all(Tag.self).map { ($0.id, $0.name) })
        let tags = Dictionary(
            grouping: try store.all(Habit.self).map { ($0.name, Set($0.tagIDs.compactMap { names[$0] })) },
            by: \.0
        ).mapValues { $0.map(\.1) }
        #expect(tags["Run"] == [["health", "outdoors"], ["health", "outdoors"]])
        #expect(tags["Walk"] == [["health"]])
        #expect(tags["Row"] == [["Health", "health"]])
        #expect(tags["Swim"] == [[]])
        #expect(tags["Read"] == [[]])
        #expect(tags["R\u{e9}sum\u{e9}"] == [["\u{e9}t\u{e9}"]])
        #expect(tags["Dance"] == [["line\nbreak"]])
        #expect(tags["Often"] == [["health"]])
    }

    @Test(arguments: [1, 2], MigratedEngine.allCases)
    func anOlderStoreIsRefusedInOneLineAndNotTouched(version: Int, engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let path = try copy(version, engine, folder)
        let name = URL(fileURLWithPath: path).lastPathComponent
        let before = try folder.contents()[name]
        for access in [StoreAccess.readOnly, .readWrite, .create] {
            let error = #expect(throws: HabitStoreError.self) { try engine.open(path, HabitSchema.current, access) }
            #expect(error?.code == .migrationRequired)
            #expect(error.map { !"\($0)".contains("\n") } == true)
        }
        #expect(try folder.contents()[name] == before)
        #expect(try engine.outline(path).version == Schema.Version(version, 0, 0))
        #expect(try folder.contents()[name] == before)
    }

    @Test(arguments: MigratedEngine.allCases)
    func aRehearsalSaysWhatWouldChangeAndTouchesNothing(engine: MigratedEngine) throws {
        let folder = try TemporaryFolder()
        let scratch = try TemporaryFolder()
        let path = try copy(2, engine, folder)
        let before = try folder.contents()[URL(fileURLWithPath: path).lastPathComponent]
        let rehearsal = try StoreMigrator(engine.store, path: path, plan: HabitMigrationPlan.self)
            .rehearse(in: scratch.path)
        #expect(try folder.contents()[URL(fileURLWithPath: path).lastPathComponent] == before)
        #expect(try scratch.contents().isEmpty)
        #expect(rehearsal.isSound)
        #expect(rehearsal.findings.isEmpty)
        #expect(rehearsal.outcome.backups.isEmpty)
        let entities = Dictionary(uniqueKeysWithValues: rehearsal.entities.map { ($0.name, $0) })
        #expect(entities["Habit"]?.unchanged == 14)
        #expect(entities["Entry"]?.unchanged == entities["Entry"]?.before)
        #expect(entities["Tag"]?.added == 10)
        #expect(rehearsal.entities.allSatisfy { $0.missing == 0 && $0.changed.isEmpty })
    }
}
