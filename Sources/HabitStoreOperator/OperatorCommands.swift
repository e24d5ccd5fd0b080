import ArgumentParser

/// The commands of every ``RolloutCommand``, by name, for programs that list them in another order, leave some out, or add their own.
public enum OperatorCommands {
    /// Compares two stores and replays recorded mismatches.
    public static let verify: any ParsableCommand.Type = VerificationCommand.self
    /// Copies a store's records and history to another one.
    public static let copy: any ParsableCommand.Type = CopyCommand.self
    /// Migrates a store of an older version to the current one.
    public static let migrate: any ParsableCommand.Type = MigrateCommand.self
    /// Checks a store against itself.
    public static let check: any ParsableCommand.Type = CheckCommand.self
    /// Lists the records that fulfil a condition.
    public static let query: any ParsableCommand.Type = QueryCommand.self
    /// Lists a store's history.
    public static let history: any ParsableCommand.Type = HistoryCommand.self
    /// Shows a store's information.
    public static let info: any ParsableCommand.Type = InfoCommand.self
    /// Checks schemas against CloudKit's rules.
    public static let schema: any ParsableCommand.Type = SchemaCommand.self
    /// Moves users from stage to stage, and back.
    public static let rollout: any ParsableCommand.Type = RolloutGroup.self
    /// Moves all users in waves.
    public static let fleet: any ParsableCommand.Type = FleetCommand.self
    /// Backs up, restores, exports and erases one user.
    public static let user: any ParsableCommand.Type = UserCommand.self
    /// Checks, evaluates and changes flag files, and pulls the kill switch.
    public static let flags: any ParsableCommand.Type = FlagsCommand.self

    /// All commands: those about stores and those about users.
    public static var groups: [CommandGroup] {
        [
            CommandGroup(
                name: "Stores",
                subcommands: [verify, copy, migrate, check, query, history, info, schema]
            ),
            CommandGroup(name: "Rollout", subcommands: [rollout, fleet, user, flags]),
        ]
    }
}
