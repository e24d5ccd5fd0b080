import ArgumentParser
import Foundation
import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// `habitstore migrate A`.
struct MigrateCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "migrate",
            abstract: "Migrates a store to the current schema version, or reports what that would change.",
            usage: """
                \(Tool.name) migrate STORE [--dry-run]
                \(Tool.name) migrate --root ROOT --user USER [--dry-run]
                """,
            discussion: """
                Each stage is one transaction: a killed migration leaves the store in one version or the other, and \
                the next one continues. Before a custom stage, or one that drops an attribute or an entity, the store \
                is copied to a file next to it. Both stores of a user are migrated in step, including one that the \
                user left or that lags.
                --dry-run migrates a copy, reports what would be dropped and how many records have a value there, \
                compares every record before and after, and changes nothing.
                Exit codes: 0 done, nothing to do, or sound; 1 the dry run found that records would be lost or the \
                result damaged, or a store that does not serve the user does not have the current version yet.
                """
        )
    }

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The store: sqlite:PATH, lmdb:PATH, or a path.")
    var store: String?

    @Flag(help: "Change nothing; migrate a copy, and report what would change.")
    var dryRun = false

    @Option(help: "Where the copy of a dry run is made. [default: the system's folder for temporary files]")
    var directory: String?

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard (store == nil) == userOptions.isGiven else {
            throw ValidationError("give a store, or --root and --user, and only one of these")
        }
    }

    func run() async throws {
        if let store { return try run(on: [StoreAddress(argument: store)], .known) }
        let settings = try await Settings(userOptions)
        let stores = try settings.stores()
        if dryRun { return try run(on: try stores.existingAddresses(of: settings.user), settings.engines) }
        try migrate(settings.user, stores)
    }

    private func run(on addresses: [StoreAddress], _ engines: Engines) throws {
        guard let plan = Tool.current.plan else {
            throw CommandFailure.usage(
                "\(Tool.name) has no migration plan: it knows schema version \(Tool.current.schema.version) only"
            )
        }
        var isSound = true
        var documents: [JSON] = []
        for address in addresses {
            let bar = ProgressBar(isQuiet: quiet)
            defer { bar.clear() }
            func show(_ progress: MigrationProgress) {
                bar.show("migrating to \(progress.to)", progress.done, progress.total)
            }
            let migrator = StoreMigrator(address, engines: engines, plan: plan)
            let report: MigrationReport
            if dryRun {
                let folder = directory ?? FileManager.default.temporaryDirectory.path
                let rehearsal = try migrator.rehearse(in: folder, progress: show)
                isSound = isSound && rehearsal.isSound
                report = MigrationReport(address, rehearsal.outcome, rehearsal)
            } else {
                report = MigrationReport(address, try migrator.run(progress: show), nil)
            }
            bar.clear()
            switch output.format {
            case .json: documents.append(report.json)
            case .text: try Output.write(report.text)
            }
        }
        if case .json = output.format { try JSON.write(documents.count == 1 ? documents[0] : .array(documents)) }
        if !isSound { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func migrate(_ user: String, _ stores: UserStores) throws {
        let (notes, token, migrated) = try stores.migrate(user)
        let version = Tool.current.schema.version
        let isDone = migrated.allSatisfy { $0.failure == nil }
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "user": .string(user), "version": .string(version.description), "token": .int(Int(token.rawValue)),
                    "notes": .array(notes.map { .string($0) }),
                    "stores": .array(
                        migrated.map { store in
                            .object([
                                "engine": .string(store.engine.rawValue),
                                "version": .optional(store.version?.description),
                                "error": .optional(store.failure?.description),
                            ])
                        }
                    ),
                ])
            )
        case .text:
            var lines = notes
            if isDone {
                lines.append("the stores of \(user) are of schema version \(version), at token \(token)")
            } else {
                lines += migrated.map { store in
                    "the \(store.engine.rawValue) store of \(user) "
                        + (store.failure.map { "is NOT of schema version \(version): \($0.description)" }
                            ?? "is of schema version \(version)")
                }
            }
            try Output.write(lines.map { TerminalText.escaped($0) + "\n" }.joined())
        }
        if !isDone { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
