import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

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
        let child = try ChildRun.run(
            template.arguments(copy),
            as: "migration-child",
            crashPoint: nil,
            lifetimeSeconds: 60
        )
        guard child.status == 0, !child.isSignalled else {
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
