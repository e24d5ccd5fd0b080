import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreRollout
import JSONText

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

    @Argument(help: "The store: \(Tool.storeForms), or a path.")
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
        var documents: [JSONObject] = []
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
        if case .json = output.format {
            if documents.count == 1 { try JSON.write(documents[0]) } else { try JSON.write(documents) }
        }
        if !isSound { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func migrate(_ user: String, _ stores: UserStores) throws {
        let (notes, token, migrated) = try stores.migrate(user)
        let version = Tool.current.schema.version
        let isDone = migrated.allSatisfy { $0.failure == nil }
        try output.write([
            "user": user, "version": version.description, "token": token.rawValue,
            "notes": notes,
            "stores": migrated.map { store in
                [
                    "engine": store.engine.rawValue,
                    "version": store.version?.description,
                    "error": store.failure?.description,
                ] as JSONObject
            },
        ]) {
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
            return lines.map { TerminalText.escaped($0) + "\n" }.joined()
        }
        if !isDone { throw ExitCode(ExitStatus.different.rawValue) }
    }
}

/// The result of a migration or of its dry run.
struct MigrationReport {
    private let address: StoreAddress
    private let outcome: MigrationOutcome
    private let rehearsal: MigrationRehearsal?

    init(_ address: StoreAddress, _ outcome: MigrationOutcome, _ rehearsal: MigrationRehearsal?) {
        (self.address, self.outcome, self.rehearsal) = (address, outcome, rehearsal)
    }

    var json: JSONObject {
        var members: JSONObject = [
            "store": address.description,
            "version": outcome.version.description,
            "isDryRun": rehearsal != nil,
            "backups": outcome.backups,
            "stages": outcome.steps.map(Self.json),
        ]
        if let rehearsal {
            members["isSound"] = rehearsal.isSound
            members["entities"] = rehearsal.entities.map(Self.json)
            members["findings"] = rehearsal.findings.map { ["kind": $0.kind, "message": $0.message] as JSONObject }
        }
        return members
    }

    private static func json(_ step: MigrationStep) -> JSONObject {
        [
            "from": step.from.description, "to": step.to.description,
            "isCustom": step.isCustom,
            "changes": step.changes,
            "drops": step.drops.map { drop in
                ["entity": drop.entity, "attribute": drop.attribute, "records": drop.records] as JSONObject
            },
            "rewrittenRecords": step.rewrittenRecords,
            "hookChanges": step.hookChanges,
        ]
    }

    private static func json(_ entity: MigrationRehearsal.Entity) -> JSONObject {
        [
            "name": entity.name, "before": entity.before,
            "after": entity.after, "unchanged": entity.unchanged,
            "missing": entity.missing, "added": entity.added,
            "changed": entity.changed,
        ]
    }

    var text: String {
        guard !outcome.steps.isEmpty else {
            return "\(address): nothing to do, the store is of schema version \(outcome.version)\n"
        }
        var text = ""
        for step in outcome.steps {
            text += "\(address): schema version \(step.from) \(rehearsal == nil ? "→" : "would become") \(step.to)\n"
            for change in step.changes { text += "  \(change)\n" }
            for drop in step.drops { text += "  \(rehearsal == nil ? "dropped" : "would drop"): \(drop)\n" }
            text += "  \(step.rewrittenRecords.counted("record")) rewritten"
            text += step.isCustom ? ", \(step.hookChanges) changes by the stage itself\n" : "\n"
        }
        for backup in outcome.backups { text += "the copy of the old store: \(backup)\n" }
        guard let rehearsal else { return text }
        var table = TextTable([
            .init("entity", canShrink: false), .init("before", alignment: .right), .init("after", alignment: .right),
            .init("unchanged", alignment: .right), .init("missing", alignment: .right),
            .init("added", alignment: .right),
            .init("changed"),
        ])
        for entity in rehearsal.entities {
            let changed = entity.changed.sorted { $0.key < $1.key }.map { "\($0.key) of \($0.value)" }
            table.append([
                entity.name, entity.before.map(String.init) ?? "–", entity.after.map(String.init) ?? "–",
                String(entity.unchanged), String(entity.missing), String(entity.added), changed.joined(separator: ", "),
            ])
        }
        text += "\n" + table.text(Terminal.options())
        for finding in rehearsal.findings { text += "\(finding.kind): \(finding.message)\n" }
        return text + verdict(rehearsal)
    }

    private func verdict(_ rehearsal: MigrationRehearsal) -> String {
        guard rehearsal.isSound else { return "NOT SOUND; nothing was changed\n" }
        let gone = rehearsal.entities.filter { $0.after == nil && $0.missing > 0 }.map(\.name)
        let exception = gone.isEmpty ? "" : " but those of \(gone.joined(separator: ", ")), which go"
        return "sound: no record is lost\(exception); nothing was changed\n"
    }
}

/// `habitstore schema`.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Checks schemas: the one that ships, or a file's.",
        subcommands: [SchemaLintCommand.self]
    )
}

/// `habitstore schema lint --cloudkit [FILE]`.
struct SchemaLintCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract: "Finds what keeps a schema from being mirrored to CloudKit.",
        discussion: """
            Unique constraints, attributes that are not optional and have no default, relationships that are not optional, \
            have no inverse, are ordered, or have the delete rule deny; one line for each, with entity and property.
            Exit code 0: nothing found; 1: something found.
            """
    )

    @OptionGroup var output: OutputOptions

    @Flag(help: "Apply CloudKit's rules, the only ones so far.")
    var cloudkit = false

    @Argument(help: "A store, or a Core Data or SwiftData file; without one, the schema that ships.")
    var file: String?

    func validate() throws {
        guard cloudkit else { throw ValidationError("name the rules: --cloudkit") }
    }

    func run() async throws {
        let (title, findings) = try lint()
        let list = findings.map { finding in
            [
                "rule": finding.rule.rawValue, "entity": finding.entity,
                "properties": finding.properties,
                "message": finding.description,
            ] as JSONObject
        }
        try output.write(["schema": title, "count": findings.count, "findings": list]) {
            let lines = findings.map { TerminalText.escaped("\($0) [\($0.rule.rawValue)]") + "\n" }
            return lines.joined() + TerminalText.escaped(title) + ": " + Self.summary(findings) + "\n"
        }
        if !findings.isEmpty { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private static func summary(_ findings: [CloudKitFinding]) -> String {
        guard !findings.isEmpty else { return "nothing prevents mirroring to CloudKit" }
        let counts = CloudKitRule.allCases.compactMap { rule -> String? in
            let count = findings.count { $0.rule == rule }
            return count == 0 ? nil : "\(count) \(rule.rawValue)"
        }
        return counts.joined(separator: ", ")
    }

    private func lint() throws -> (title: String, findings: [CloudKitFinding]) {
        guard let file else {
            let schema = Tool.current.schema
            return ("the schema that ships, \(schema.version)", CloudKitLint.findings(in: StoredSchema(schema)))
        }
        if SourceKind(path: file) == .database {
            let source = try CoreDataFile(path: file)
            defer { source.close() }
            return (file, try CloudKitLint.findings(in: source))
        }
        return (file, CloudKitLint.findings(in: try StoreAddress(argument: file).storedSchema(by: .known)))
    }
}
