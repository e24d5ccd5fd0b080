import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import ShadowVerifier
import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// Both stores of a user are migrated together, whatever the user's stage.
@Suite("Migrating a user in the middle of a rollout")
struct MigrationInStepTests {
    private typealias V1 = HabitSchemaV1

    /// A user of schema version 1 with three habits, brought to a stage; the store is closed.
    private func user(at stage: Stage) throws -> StagedUser {
        let user = try StagedUser()
        let store = try user.stores(schema: V1.schema).store(for: "alice")
        defer { store.close() }
        try store.write(author: "app") { transaction in
            for (number, tags) in ["health, outdoors", "outdoors", ""].enumerated() {
                let habit = V1.Habit(id: UUID.named("\(number)", in: UUID.namespace), name: "h\(number)", tags: tags)
                try transaction.insert(habit)
                try transaction.insert(V1.Entry(date: Date(timeIntervalSinceReferenceDate: 1), habitID: habit.id))
            }
        }
        try user.bring(store, to: stage) { _ = try $0.all(V1.Habit.self) }
        return user
    }

    private func open(
        _ user: StagedUser,
        plan: (any SchemaMigrationPlan.Type)? = HabitMigrationPlan.self
    ) throws -> UserStore {
        try user.stores { $0.migrationPlan = plan }.store(for: "alice")
    }

    private func expectMigrated(
        _ user: StagedUser,
        _ store: UserStore,
        at stage: Stage,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try store.stage() == stage, sourceLocation: sourceLocation)
        #expect(try store.all(Habit.self).map(\.tagIDs.count).sorted() == [0, 1, 2], sourceLocation: sourceLocation)
        #expect(try store.all(Entry.self).count == 3, sourceLocation: sourceLocation)
        #expect(Set(try store.all(Tag.self).map(\.name)) == ["health", "outdoors"], sourceLocation: sourceLocation)
        try store.save(Draft(content: "still takes writes"))
        _ = store.files.leases.present?.mirror?.waitUntilIdle(waitSeconds: 60)
        store.close()
        let addresses = try [StoreSide.old, .new].map { try user.address($0) }
            .filter { FileManager.default.fileExists(atPath: $0.path) }
        for address in addresses {
            #expect(try address.outline().version == HabitSchema.current.version, sourceLocation: sourceLocation)
        }
        guard stage != .off, stage != .complete else { return }
        let (a, b) = (
            try addresses[0].open(.readOnly, schema: HabitSchema.current),
            try addresses[1].open(.readOnly, schema: HabitSchema.current)
        )
        defer {
            a.close()
            b.close()
        }
        let report = try ShadowVerifier(.init(name: "a", store: a), .init(name: "b", store: b)).run()
        #expect(report.verdict == .match, "\(report.differences.map(\.message))", sourceLocation: sourceLocation)
    }

    @Test(arguments: Stage.allCases)
    func bothStoresComeOutEqualAtEveryStage(stage: Stage) throws {
        let user = try user(at: stage)
        let store = try open(user)
        #expect(store.notes.contains("migrated from schema version 1.0.0 to 3.0.0"), "\(store.notes)")
        #expect(!store.notes.contains { $0.contains("in step") }, "\(store.notes)")
        // Two of the three habits had a text of tags, which a relationship replaces.
        let dropped = "the migration dropped Habit.tags, with a value in 2 records"
        #expect(store.notes.contains(dropped), "\(store.notes)")
        let events = try EvidenceLog(user.directory).read().records.map(\.event)
        #expect(
            events.contains {
                if case .migrated(let from, let to, _) = $0 { return (from, to) == (.init(1, 0, 0), .init(3, 0, 0)) }
                return false
            }
        )
        try expectMigrated(user, store, at: stage)
        // The next opening has nothing left to do.
        let again = try open(user)
        #expect(!again.notes.contains { $0.contains("migrated") }, "\(again.notes)")
        again.close()
    }

    /// Evidence about the old version's records says nothing about those of the new one.
    @Test func theGateAsksForEvidenceAnew() throws {
        let user = try user(at: .shadow)
        let before = try user.stores(schema: V1.schema).store(for: "alice")
        for _ in 0..<5 { _ = try before.all(V1.Habit.self) }
        before.drainShadowReads(seconds: 30)
        before.close()
        let store = try open(user)
        defer { store.close() }
        try user.want("live")
        store.files.context.flags.provider.reload()
        let decision = try store.promote()
        #expect(decision.isOpen == false)
        #expect(decision.reasons.contains { "\($0)".contains("verified") }, "\(decision.reasons)")
    }

    @Test(arguments: [Stage.dualwrite, .live])
    func aProcessThatDiesBetweenBothIsMadeUpFor(stage: Stage) throws {
        let user = try user(at: stage)
        // The authoritative store is the last one to be migrated.
        _ = try user.address(stage.authority.other).migrator(HabitMigrationPlan.self).run()
        let store = try open(user)
        #expect(!store.notes.contains { $0.contains("in step") }, "\(store.notes)")
        try expectMigrated(user, store, at: stage)
    }

    @Test func aMirrorThatIsBehindIsCaughtUpInTheOldShapeFirst() throws {
        let user = try user(at: .dualwrite)
        let old = try user.address(.old).open(.readWrite, schema: V1.schema)
        try old.save(V1.Habit(name: "late", tags: "outdoors"))
        try old.write { try $0.delete(V1.Habit.self, where: #Predicate { $0.name == "late" }) }
        old.close()
        let store = try open(user)
        #expect(!store.notes.contains { $0.contains("in step") }, "\(store.notes)")
        try expectMigrated(user, store, at: .dualwrite)
    }

    private enum Random: SchemaMigrationPlan {
        static let schemas = HabitMigrationPlan.schemas
        static let stages = [
            MigrationStage.custom(
                fromVersion: HabitSchemaV1.self,
                toVersion: HabitSchemaV3.self,
                willMigrate: nil,
                didMigrate: { before, store in
                    let texts = try before.all(HabitSchemaV1.Habit.self).map { ($0.id, $0.tags) }
                    let names = Set(texts.flatMap { HabitMigrationPlan.tagNames(in: $0.1) })
                    let tags = names.map { Tag(name: $0) }
                    for tag in tags { try store.insert(tag) }
                    for (id, text) in texts {
                        guard var habit = try store.model(Habit.self, id: id) else { continue }
                        let wanted = HabitMigrationPlan.tagNames(in: text)
                        habit.tagIDs = Set(tags.filter { wanted.contains($0.name) }.map(\.id))
                        try store.save(habit)
                    }
                }
            )
        ]
    }

    /// A stage that makes random identifiers gives different records in each store: the previous mirror is set aside, and a new one is made.
    @Test(arguments: [Stage.shadow, .live])
    func aStoreThatComesOutOtherwiseIsSetAsideAndMadeAnew(stage: Stage) throws {
        let user = try user(at: stage)
        let store = try open(user, plan: Random.self)
        let note = try #require(store.notes.first { $0.contains("could not be migrated in step") }, "\(store.notes)")
        let aside = try user.address(stage.authority.other).path + "-3.0.0-aside"
        #expect(note.contains(aside))
        #expect(FileManager.default.fileExists(atPath: aside))
        try expectMigrated(user, store, at: stage)
    }

    /// Each file's outline was read first, so as long as a migration was due, a damaged mirror kept the user from the sound store.
    @Test(arguments: [Stage.dualwrite, .shadow])
    func aMirrorThatCannotBeReadKeepsNobodyFromTheStore(stage: Stage) throws {
        let user = try user(at: stage)
        let mirror = try user.address(.new).path
        let garbage = Data("no store, for certain".utf8)
        try garbage.write(to: URL(fileURLWithPath: mirror))
        let store = try open(user)
        let note = try #require(store.notes.first { $0.contains("could not be migrated in step") }, "\(store.notes)")
        #expect(note.contains(mirror + "-1.0.0-aside"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: mirror + "-1.0.0-aside")) == garbage)
        try expectMigrated(user, store, at: stage)
    }

    /// A file that another process is using is sound, but it was set aside and copied again from the start. Later it kept the user from the serving
    /// store.
    @Test func aMirrorThatIsBusyIsMigratedAnotherTime() throws {
        let user = try user(at: .dualwrite)
        let busy = FaultPlan()
        busy.inject(Fault(.fail(.busy), on: [.replicate]))
        let new = user.old.otherStandard
        let stores = try user.stores { options in
            options.migrationPlan = HabitMigrationPlan.self
            options.opener = { address, access, schema in
                guard address.engine == new else { return try address.open(access, schema: schema) }
                return try FaultInjectingStore(busy, path: address.path) { try address.open(access, schema: schema) }
            }
        }
        let store = try stores.store(for: "alice")
        #expect(store.notes.contains { $0.contains("the \(new) store is migrated later") }, "\(store.notes)")
        #expect(try store.all(Habit.self).count == 3)
        store.close()
        let files = try FileManager.default.contentsOfDirectory(atPath: try user.directory.path)
        #expect(!files.contains { $0.contains("aside") }, "\(files)")
        try expectMigrated(user, try open(user), at: .dualwrite)
    }

    /// If only the app's opener can read its files, as with encryption, its users were refused with `notAStore` once the schema had a new version:
    /// the migration opened the files itself.
    @Test(arguments: [Stage.off, .dualwrite, .live, .complete])
    func storesThatOnlyTheAppsOpenerReadsAreMigratedByIt(stage: Stage) throws {
        let user = try user(at: stage)
        let paths = try [StoreSide.old, .new].map { try user.address($0).path }
            .filter { FileManager.default.fileExists(atPath: $0) }
        for path in paths {
            try SealedStore.toggleSeal(path)
            #expect(throws: HabitStoreError.self) { try StoreAddress(parsing: path).outline() }
        }
        let store = try user.stores { options in
            options.migrationPlan = HabitMigrationPlan.self
            options.opener = { try SealedStore($0, $1, $2) }
        }
        .store(for: "alice")
        #expect(store.notes.contains("migrated from schema version 1.0.0 to 3.0.0"), "\(store.notes)")
        #expect(!store.notes.contains { $0.contains("in step") }, "\(store.notes)")
        try store.save(Draft(content: "takes writes"))
        store.close()
        for path in paths { try SealedStore.toggleSeal(path) }
        try expectMigrated(user, try open(user), at: stage)
    }

    @Test func withoutAPlanTheStoresAreRefusedAndLeftAsTheyAre() throws {
        let user = try user(at: .shadow)
        let paths = try [StoreSide.old, .new].map { try user.address($0).path }
        let before = try paths.map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        let error = #expect(throws: HabitStoreError.self) { try open(user, plan: nil) }
        #expect(error?.code == .migrationRequired)
        #expect(try paths.map { try Data(contentsOf: URL(fileURLWithPath: $0)) } == before)
    }

    /// Replaces one of the stores with a copy from before `change`.
    private func putBack(_ side: StoreSide, of user: StagedUser, _ change: (StagedUser) throws -> Void) throws {
        let path = try user.address(side).path
        let copy = user.folder.path("copy")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        try change(user)
        for suffix in ["", "-wal", "-shm", "-sound"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
        try FileManager.default.copyItem(atPath: copy, toPath: path)
    }

    private func migrateAndWrite(_ user: StagedUser) throws {
        let store = try open(user)
        defer { store.close() }
        try store.save(Draft(content: "after"))
        #expect(store.waitUntilMirrorIsIdle(waitSeconds: 60))
    }

    /// The old store was replaced by a backup from before an app update, and the control file was gone: with its older schema version it passed for a
    /// store whose migration had been interrupted. It was migrated and served, the newer store was set aside and filled again from it, and everything
    /// written since was lost.
    @Test(arguments: [Stage.dualwrite, .shadow], [true, false])
    func anOlderStoreOfAnOlderVersionIsNotServed(stage: Stage, hasControl: Bool) throws {
        let user = try user(at: stage)
        try putBack(.old, of: user) { user in
            try migrateAndWrite(user)
            if !hasControl { try FileManager.default.removeItem(atPath: user.directory.path + "/control") }
        }
        let error = #expect(throws: HabitStoreError.self) { try open(user) }
        #expect(error?.code == .staleStore)
        let names = try FileManager.default.contentsOfDirectory(atPath: user.directory.path)
        #expect(!names.contains { $0.contains("aside") }, "\(names)")
        let newer = try user.address(.new).open(.readOnly, schema: HabitSchema.current)
        defer { newer.close() }
        #expect(try newer.all(Draft.self).map(\.content) == ["after"])
    }

    /// The new store was restored and the old one has everything. The migration set the old one aside, which left the kill switch nowhere to go.
    @Test(arguments: [Stage.live, .rampdown], [true, false])
    func theStoreThatHoldsEverythingOutlivesAnOlderOneOfAnOlderVersion(stage: Stage, hasControl: Bool) throws {
        let user = try user(at: stage)
        try putBack(.new, of: user) { user in
            try migrateAndWrite(user)
            if !hasControl { try FileManager.default.removeItem(atPath: user.directory.path + "/control") }
        }
        let store = try open(user)
        defer { store.close() }
        #expect(try store.all(Draft.self).map(\.content) == ["after"])
        try store.save(Draft(content: "continues"))
        let names = try FileManager.default.contentsOfDirectory(atPath: user.directory.path)
        #expect(!names.contains { $0.contains("aside") }, "\(names)")
    }

    /// The old store, which does not serve, was restored. Status reported the user on it, with a serving store of an unknown version; the doctor
    /// advised accepting it.
    @Test func anOlderStoreThatDoesNotServeIsBroughtUpAgain() throws {
        let user = try user(at: .live)
        try putBack(.old, of: user) { try migrateAndWrite($0) }
        let written = try user.stores {
            $0.otherVersions = .asWrittenByAnyApp
            $0.migrationPlan = nil
        }
        let seen = try written.store(for: "alice")
        #expect(try seen.engine() == user.new)
        #expect(try seen.currentToken() >= HistoryToken(rawValue: 3))
        seen.close()
        let store = try open(user)
        #expect(try store.all(Draft.self).map(\.content) == ["after"])
        try expectMigrated(user, store, at: .live)
    }

    /// Commands that move users do not migrate them: a user whom the updated app had not opened yet could not be killed.
    @Test func aUserWhoWasNotOpenedSinceTheUpdateCanBeKilled() throws {
        let user = try user(at: .live)
        try user.want("live", kill: true)
        let written = try user.stores {
            $0.otherVersions = .asWrittenByAnyApp
            $0.migrationPlan = nil
        }
        let store = try written.store(for: "alice")
        defer { store.close() }
        #expect(try store.applyKill())
        #expect(try store.stage() == .off)
    }

    /// The previous version of the app may still run in another process.
    @Test(arguments: [Stage.dualwrite, .live])
    func aProcessOfTheVersionBeforeIsRefusedAndLosesNothing(stage: Stage) throws {
        let user = try user(at: stage)
        let early = try user.stores(schema: V1.schema).store(for: "alice")
        defer { early.close() }
        #expect(try early.all(V1.Habit.self).count == 3)
        let store = try open(user)
        let error = #expect(throws: HabitStoreError.self) { try early.save(V1.Habit(name: "late", tags: "")) }
        #expect(error?.code == .schemaMismatch || error?.code == .newerVersion, "\(String(describing: error))")
        #expect(throws: HabitStoreError.self) { try early.all(V1.Habit.self) }
        try expectMigrated(user, store, at: stage)
    }
}

extension UUID {
    fileprivate static let namespace = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
}
