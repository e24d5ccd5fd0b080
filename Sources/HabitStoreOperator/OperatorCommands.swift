import ArgumentParser

/// The commands that every ``RolloutCommand`` has, by name: for one that lists them otherwise, leaves some out, or puts its own between.
public enum OperatorCommands {
    /// Two stores are compared, and recorded mismatches looked at again.
    public static let verify: any ParsableCommand.Type = VerificationCommand.self
    /// A store is brought to another one's records and history.
    public static let copy: any ParsableCommand.Type = CopyCommand.self
    /// A store of an older version is brought to the current one.
    public static let migrate: any ParsableCommand.Type = MigrateCommand.self
    /// A store is checked against itself.
    public static let check: any ParsableCommand.Type = CheckCommand.self
    /// Records that fulfil a condition.
    public static let query: any ParsableCommand.Type = QueryCommand.self
    /// What a store went through.
    public static let history: any ParsableCommand.Type = HistoryCommand.self
    /// What a store says of itself.
    public static let info: any ParsableCommand.Type = InfoCommand.self
    /// Schemas, by CloudKit's rules.
    public static let schema: any ParsableCommand.Type = SchemaCommand.self
    /// Users are moved from stage to stage, and back.
    public static let rollout: any ParsableCommand.Type = RolloutGroup.self
    /// All users in waves.
    public static let fleet: any ParsableCommand.Type = FleetCommand.self
    /// All of one user: backups, exports, erasures.
    public static let user: any ParsableCommand.Type = UserCommand.self
    /// Flag files, and the kill switch.
    public static let flags: any ParsableCommand.Type = FlagsCommand.self

    /// All of them: those about stores, and those about users.
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
