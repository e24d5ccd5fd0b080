import ArgumentParser
import HabitStore
import HabitStoreRollout
import StandardEngines

extension RolloutCommand {
    /// The last version of ``plan``.
    ///
    /// - Throws: ``HabitStore/HabitStoreError/Code/schemaMismatch`` if there is no plan, or the plan contradicts itself.
    public static var schema: Schema {
        get throws {
            guard let plan else {
                throw HabitStoreError(
                    .schemaMismatch,
                    "\(Self.self) has neither a schema nor a plan; declare one of them"
                )
            }
            return try plan.current()
        }
    }

    /// Nil: stores of older versions are refused.
    public static var plan: (any SchemaMigrationPlan.Type)? { nil }

    /// The type's name in lowercase, with dashes between its words.
    public static var name: String { CommandName.words(of: "\(Self.self)") }

    /// A general description of such a command.
    public static var abstract: String { "Manages users' stores, and moves users from one engine to another." }

    /// `schema version` and the version.
    public static var version: String { (try? schema).map { "schema version \($0.version)" } ?? "" }

    /// A query for the first entity's records.
    public static var exampleQuery: String {
        "\((try? schema)?.entities.first?.name ?? "ENTITY") --limit 10 --store sqlite:PATH"
    }

    /// SQLite and LMDB.
    public static var engines: Engines { .standard }

    /// Nil: flags come from a file.
    public static var flagProvider: (any RolloutFlagProvider)? { nil }

    /// Nil: no servers.
    public static var servers: ServerEngines? { nil }

    /// All of ``OperatorCommands``.
    public static var groups: [CommandGroup] { OperatorCommands.groups }

    /// No further commands.
    public static var subcommands: [any ParsableCommand.Type] { [] }

    /// Leaves the options unchanged.
    public static func configure(_ options: inout RolloutOptions) {}

    /// The configuration made from the requirements above.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: name,
            abstract: abstract,
            discussion: discussion,
            version: version,
            subcommands: subcommands,
            groupedSubcommands: groups
        )
    }

    /// How to write stores, and the meaning of exit codes.
    private static var discussion: String {
        let server = servers == nil ? "" : "postgres://SERVER#NAME, "
        return """
            A store is written as sqlite:PATH, lmdb:PATH, \(server)or as a path whose kind is recognised.
            Exit codes: 0 done, or identical; 1 different, damaged, refused, or something found; 2 only what rules ignore is \
            different; 64 wrong usage; 65 data that cannot be read; 74 a file that cannot be reached; 75 out of time.
            """
    }
}
