import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import StandardEngines

/// Kills processes that migrate stores to later schema versions, and checks what each has left.
struct MigrationSweepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migration-sweep",
        abstract: "Kill processes that migrate stores with SIGKILL at random times, and check the stores.",
        discussion: """
            Migrates single stores of both engines, and users at dualwrite and live, whose two stores migrate in step. After \
            each kill a store must have one version, with exactly its records; after a run that is not killed, the last version.
            """
    )

    @Option(help: "How many processes to kill.")
    var kills = 300

    @OptionGroup var options: SweepOptions

    /// How often one store is killed before its migration is finished.
    private static let lives = 3

    func run() throws {
        var generator = SeededGenerator(seed: options.printedSeed())
        let folder = try options.makeFolder("migration").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let templates = try MigrationTemplates(folder)
        var figures = MigrationFigures()
        // A process takes less time when the machine is less busy.
        var seconds = templates.all.map(\.seconds)
        var place = 0
        while figures.kills < kills {
            let kind = place % templates.all.count
            let template = templates.all[kind]
            place += 1
            let copy = "\(folder)/\(place)"
            try FileManager.default.copyItem(atPath: template.path, toPath: copy)
            for _ in 0..<Self.lives where figures.kills < kills {
                let start = Date()
                let child = try ChildProcess.run(
                    template.arguments(copy),
                    as: "migration-child",
                    crashPoint: nil,
                    lifetimeSeconds: Double.random(in: 0...seconds[kind], using: &generator)
                )
                figures.died(child.isSignalled)
                if !child.isSignalled { seconds[kind] = min(seconds[kind], Date().timeIntervalSince(start)) }
                try templates.look(template, copy, &figures)
            }
            try template.finish(copy)
            try templates.lookAtTheEnd(template, copy, &figures)
            try FileManager.default.removeItem(atPath: copy)
        }
        for line in figures.lines { print(line) }
        if figures.violations > 0 { throw ExitCode.failure }
    }
}

/// The stores to migrate and kill, and their expected contents.
struct MigrationTemplates {
    /// A store, or a user with two stores.
    struct Template {
        let path: String
        /// Nil for a user.
        let engine: EngineName?
        /// How long a process takes to migrate it.
        var seconds = 0.0

        func arguments(_ copy: String) -> [String] {
            engine.map { ["--store", "\($0.rawValue):\(copy)"] } ?? ["--root", copy]
        }

        func addresses(_ copy: String) throws -> [StoreAddress] {
            if let engine { return [StoreAddress(engine, path: copy)] }
            return try MigrationWorkload.stores(copy, flags: nil).existingAddresses(of: MigrationWorkload.user)
        }

        /// Migrates it in this process.
        func finish(_ copy: String) throws {
            if let engine {
                _ = try StoreAddress(engine, path: copy).migrator(HabitMigrationPlan.self).run()
            } else {
                try MigrationWorkload.stores(copy, flags: nil).store(for: MigrationWorkload.user).close()
            }
        }
    }

    let all: [Template]
    /// The expected contents of each version.
    private let contents: [Schema.Version: MigrationWorkload.Contents]

    init(_ folder: String) throws {
        let addresses = EngineName.standard.map { StoreAddress($0, path: "\(folder)/template.\($0.rawValue)") }
        var contents: [Schema.Version: MigrationWorkload.Contents] = [:]
        for address in addresses {
            let store = try address.open(.create, schema: HabitSchemaV1.schema)
            try MigrationWorkload.fill(store)
            store.close()
            let copy = StoreAddress(address.engine, path: address.path + "-reference")
            try FileManager.default.copyItem(atPath: address.path, toPath: copy.path)
            for plan in [FirstStage.self, HabitMigrationPlan.self] as [any SchemaMigrationPlan.Type] {
                let (version, found) = try MigrationWorkload.contents(copy)
                guard contents[version].map({ $0 == found }) ?? true else {
                    throw HabitStoreError(.internalInconsistency, "the engines' records differ at version \(version)")
                }
                contents[version] = found
                _ = try copy.migrator(plan).run()
            }
            let (version, found) = try MigrationWorkload.contents(copy)
            contents[version] = found
        }
        self.contents = contents
        var all = addresses.map { Template(path: $0.path, engine: $0.engine) }
        for stage in [Stage.dualwrite, .live] {
            all.append(Template(path: try Self.user(folder, at: stage), engine: nil))
        }
        self.all = try all.map { try Self.timed($0, folder) }
    }

    private enum FirstStage: SchemaMigrationPlan {
        static let schemas = Array(HabitMigrationPlan.schemas.prefix(2))
        static let stages = [HabitMigrationPlan.stages[0]]
    }

    /// A user of version 1 at a stage.
    private static func user(_ folder: String, at stage: Stage) throws -> String {
        let flags = StageFlags(path: "\(folder)/\(stage.rawValue).json", old: .sqlite)
        try flags.want(stage)
        let root = "\(folder)/user-\(stage.rawValue)"
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 1
        options.shadowReads.recordEvery = 1
        options.logger.logLevel = .critical
        let stores = try UserStores(root: root, flags: flags.path, schema: HabitSchemaV1.schema, options: options)
        let store = try stores.store(for: MigrationWorkload.user)
        defer { store.close() }
        try MigrationWorkload.fill(store)
        while try store.stage() != stage {
            for _ in 0..<3 { _ = try store.all(HabitSchemaV1.Habit.self) }
            let before = try store.stage()
            _ = try store.advance()
            guard try store.stage() != before else {
                throw HabitStoreError(
                    .internalInconsistency,
                    "cannot move the sweep's user to \(stage.rawValue)"
                )
            }
        }
        return root
    }

    /// Measures how long a process takes if it is not killed.
    private static func timed(_ template: Template, _ folder: String) throws -> Template {
        let copy = "\(folder)/timed"
        try FileManager.default.copyItem(atPath: template.path, toPath: copy)
        defer { try? FileManager.default.removeItem(atPath: copy) }
        let start = Date()
        let child = try ChildProcess.run(
            template.arguments(copy),
            as: "migration-child",
            crashPoint: nil,
            lifetimeSeconds: 60
        )
        guard child.isSuccess else {
            throw HabitStoreError(.internalInconsistency, "a process failed to migrate although it was not killed")
        }
        var template = template
        template.seconds = Date().timeIntervalSince(start)
        return template
    }

    // MARK: Checking

    /// Checks that each store has one version after a kill, with exactly that version's records.
    func look(_ template: Template, _ copy: String, _ figures: inout MigrationFigures) throws {
        for address in try template.addresses(copy) {
            do {
                let (version, found) = try MigrationWorkload.contents(address)
                figures.found(version)
                // Only the records count here, not a user's epochs and roles.
                if found.digests != contents[version]?.digests {
                    figures.violation("\(address.engine.rawValue), version \(version), has the wrong records")
                }
            } catch {
                figures.violation("\(address.engine.rawValue): \(error)")
            }
        }
    }

    /// Checks that every store has the last version after a run that was not killed, and that nothing was set aside.
    func lookAtTheEnd(_ template: Template, _ copy: String, _ figures: inout MigrationFigures) throws {
        let last = HabitSchema.current.version
        for address in try template.addresses(copy) {
            let (version, found) = try MigrationWorkload.contents(address)
            if version != last || found != contents[last] {
                figures.violation("\(address.engine.rawValue) ended at version \(version), token \(found.token)")
            }
        }
        let folder = URL(fileURLWithPath: copy)
        let left = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? []
        for file in left.compactMap({ ($0 as? URL)?.lastPathComponent }) where file.contains("-aside") {
            figures.violation("\(file) was set aside")
        }
    }
}

/// Stores of the first schema version, and their expected contents at each later one.
struct MigrationWorkload {
    /// The contents of a store by its kept digests, and its token.
    struct Contents: Equatable {
        var digests: [RecordDigest]
        var token: HistoryToken
    }

    static let user = "alice"
    private static let habits = 40
    private static let entriesEach = 12

    /// Fills a store of version 1.
    static func fill(_ store: some HabitStore) throws {
        try store.write(author: "app") { transaction in
            for number in 0..<habits {
                let habit = HabitSchemaV1.Habit(
                    id: UUID.named("habit \(number)", in: HabitMigrationPlan.tagNamespace),
                    name: "habit \(number)",
                    createdAt: Date(timeIntervalSinceReferenceDate: Double(number)),
                    tags: "tag \(number % 7), tag \(number % 5),all,all"
                )
                try transaction.insert(habit)
                for day in 0..<entriesEach {
                    try transaction.insert(
                        HabitSchemaV1.Entry(
                            id: UUID.named("\(day)", in: habit.id),
                            date: Date(timeIntervalSinceReferenceDate: Double(day) * 86_400),
                            note: day % 3 == 0 ? nil : "day \(day)",
                            habitID: habit.id
                        )
                    )
                }
            }
        }
    }

    /// The current contents and version of a store.
    ///
    /// - Throws: also if the store contradicts itself.
    static func contents(_ address: StoreAddress) throws -> (version: Schema.Version, Contents) {
        let version = try address.outline().version
        guard let schema = HabitMigrationPlan.schemas.first(where: { $0.versionIdentifier == version })?.schema else {
            throw HabitStoreError(
                .corrupt,
                "the store has version \(version), which never existed",
                at: .init(path: address.path)
            )
        }
        return (version, try contents(try address.open(.readWrite, schema: schema)))
    }

    private static func contents(_ store: some UserStoreBackend) throws -> Contents {
        defer { store.close() }
        let findings = try store.check { _ in } + store.checkDigests()
        guard findings.isEmpty else {
            throw HabitStoreError(
                .corrupt,
                "the store's check found: \(findings.map(\.message))",
                at: .init(path: store.path)
            )
        }
        let digests = try store.read { transaction in
            guard let audited = transaction as? any AuditableTransaction else {
                throw HabitStoreError(.internalInconsistency, "the store keeps no digests", at: .init(path: store.path))
            }
            return try store.schema.entities.indices.map { entity in
                try (audited.keptDigests(entity: entity) ?? []).reduce(into: RecordDigest()) { $0 += $1.digest }
            }
        }
        return Contents(digests: digests, token: try store.currentToken())
    }

    /// The stores of a root, as a process of this version opens them.
    static func stores(_ root: String, schema: Schema = HabitSchema.current, flags: String?) throws -> UserStores {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.migrationPlan = HabitMigrationPlan.self
        options.logger.logLevel = .critical
        return try UserStores(root: root, flags: flags, schema: schema, options: options)
    }
}

/// Migrates a store, or a user's stores, and ends.
struct MigrationChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migration-child",
        abstract: "Migrate a store until this process is killed; started by a sweep.",
        shouldDisplay: false
    )

    @Option(help: "The store.")
    var store: String?

    @Option(help: "The root of a user's stores.")
    var root: String?

    mutating func run() throws {
        if let store { _ = try StoreAddress(parsing: store).migrator(HabitMigrationPlan.self).run() }
        if let root { try MigrationWorkload.stores(root, flags: nil).store(for: MigrationWorkload.user).close() }
    }
}

/// The counts of a sweep over migrations.
struct MigrationFigures {
    private(set) var kills = 0
    private var finished = 0
    private var found: [Schema.Version: Int] = [:]
    private(set) var violations = 0

    /// Counts the end of a process.
    ///
    /// - Parameter wasKilled: false if it had ended before.
    mutating func died(_ wasKilled: Bool) { if wasKilled { kills += 1 } else { finished += 1 } }

    /// Counts the version of a store found afterwards.
    mutating func found(_ version: Schema.Version) { found[version, default: 0] += 1 }

    mutating func violation(_ text: String) {
        print("VIOLATION kill \(kills): \(text)")
        violations += 1
    }

    var lines: [String] {
        let versions = found.sorted { $0.key < $1.key }.map { "\($0.value) of \($0.key)" }.joined(separator: ", ")
        return [
            "\(kills) kills, \(finished) processes finished before they were killed",
            "versions of the stores afterwards: \(versions)",
            "\(violations) violations",
        ]
    }
}
