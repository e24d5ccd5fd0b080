import ArgumentParser
import HabitStore
import HabitStoreRollout

/// The command by which an app's operators look after its stores: `rollout`, `fleet`, `user`, `flags`, `verify`, `check`, `migrate`, `copy`
/// and the others of ``OperatorCommands``, for the app's own schema.
///
/// ```swift
/// @main
/// struct NotesOperator: RolloutCommand {
///     static let name = "notes"
///     static let plan: (any SchemaMigrationPlan.Type)? = NotesPlan.self
/// }
/// ```
///
/// Everything else has a default. A process is one such command: ``main(_:)`` says which, before it reads the arguments.
public protocol RolloutCommand: AsyncParsableCommand, SendableMetatype {
    /// The schema that users' stores have; the last version of ``plan`` unless it is said.
    ///
    /// - Throws: what is wrong with the plan; the command says so in one line, and does nothing.
    static var schema: Schema { get throws }

    /// What brings stores of older versions to ``schema``, which is its last version; nil, the default, where there was only one.
    static var plan: (any SchemaMigrationPlan.Type)? { get }

    /// What the command is called, by people and in what it tells them to run; `notes-operator` for a type `NotesOperator` unless it is
    /// said. Settings go by it, too: those of `notes` are in `NOTES_ROOT` and the like, and in `~/.config/notes/config.json`, and its users'
    /// stores in `~/.local/share/notes`, unless those say otherwise.
    static var name: String { get }

    /// One sentence about the command, for `--help`.
    static var abstract: String { get }

    /// What `--version` prints; the schema's version unless it is said.
    static var version: String { get }

    /// A question that `query --help` shows, as it is typed after `query`.
    static var exampleQuery: String { get }

    /// The engines that users may be on, and whose stores can be named; SQLite and LMDB unless it is said.
    ///
    /// - Throws: what is wrong with them; the command says so in one line, and does nothing.
    static var engines: Engines { get throws }

    /// Where the rollout's flags come from, unless a flag file is named by `--flags`, the environment or the configuration; nil, the default,
    /// for the flag file under the root.
    static var flagProvider: (any RolloutFlagProvider)? { get }

    /// The servers that `--servers` may name; nil, the default, for none.
    static var servers: ServerEngines? { get }

    /// The commands, as `--help` lists them; ``OperatorCommands/groups`` unless it is said.
    static var groups: [CommandGroup] { get }

    /// Commands of the app's own, listed before the groups; none unless it is said.
    static var subcommands: [any ParsableCommand.Type] { get }

    /// Changes how users' stores are kept, for all commands that open them.
    ///
    /// - Parameter options: what the command works with: it moves users when it is told to and not in the background, logs critical things
    ///   only, and has the ``plan``. The gate's policy, the keys of the evidence and how many users may be open come from the settings
    ///   afterwards.
    static func configure(_ options: inout RolloutOptions)
}
