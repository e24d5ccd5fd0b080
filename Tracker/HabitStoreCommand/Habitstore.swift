import ArgumentParser
import HabitStore
import HabitStoreOperator
import HabitStorePostgres
import HabitTracker

/// The command line: compares, copies, checks and queries stores, with a habit tracker on top of them.
@main
struct Habitstore: RolloutCommand {
    static let name = "habitstore"
    static let abstract =
        "Keeps habits in SQLite or LMDB, moves them from one to the other, and proves that nothing was lost."
    static let version = "0.1.0"
    static let schema = HabitSchema.current
    static let plan: (any SchemaMigrationPlan.Type)? = HabitMigrationPlan.self
    static let exampleQuery = #"Habit 'streak >= 7 AND name CONTAINS "run"' --sort -streak,name --store sqlite:PATH"#
    static let servers: ServerEngines? = ServerEngines(anywhere: { try PostgresProvider() }) { name, server in
        try PostgresProvider(name: name, server: server)
    }

    static var groups: [CommandGroup] {
        [
            CommandGroup(
                name: "Stores",
                subcommands: [
                    OperatorCommands.verify, OperatorCommands.copy, OperatorCommands.migrate, OperatorCommands.check,
                    OperatorCommands.query, OperatorCommands.history, OperatorCommands.info, OperatorCommands.inspect,
                    OperatorCommands.schema, OperatorCommands.map, ImportCommand.self, OperatorCommands.export,
                    ServerCommand.self,
                ]
            ),
            CommandGroup(
                name: "Rollout",
                subcommands: [
                    OperatorCommands.rollout, OperatorCommands.fleet, ServeCommand.self, OperatorCommands.user,
                    OperatorCommands.flags,
                ]
            ),
            CommandGroup(
                name: "Habits",
                subcommands: [
                    HabitCommand.self, CheckinCommand.self, EntryCommand.self, TagCommand.self, DraftCommand.self,
                    ChartCommand.self, SearchCommand.self, StatusCommand.self,
                ]
            ),
        ]
    }
}
