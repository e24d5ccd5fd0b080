import ArgumentParser
import HabitStore
import HabitStoreRollout

/// A command with which an app's operators maintain its stores: `rollout`, `fleet`, `user`, `flags`, `verify`, `check`, `migrate`, `copy` and the
/// other ``OperatorCommands``, for the app's own schema.
///
/// ```swift
/// @main
/// struct NotesOperator: RolloutCommand {
///     static let name = "notes"
///     static let plan: (any SchemaMigrationPlan.Type)? = NotesPlan.self
/// }
/// ```
///
/// All other requirements have defaults. A process is one such command: ``main(_:)`` registers it before it reads the arguments.
public protocol RolloutCommand: AsyncParsableCommand, SendableMetatype {
    /// The schema of users' stores; by default the last version of ``plan``.
    ///
    /// - Throws: an error in the plan; the command prints it in one line and does nothing.
    static var schema: Schema { get throws }

    /// The plan that migrates older stores to ``schema``, its last version; nil, the default, if there was only one version.
    static var plan: (any SchemaMigrationPlan.Type)? { get }

    /// The command's name, for people and in the commands that it suggests; by default `notes-operator` for a type `NotesOperator`. It also names the
    /// settings: those of `notes` are in `NOTES_ROOT` and the like and in `~/.config/notes/config.json`, and its users' stores are in
    /// `~/.local/share/notes` unless the settings say otherwise.
    static var name: String { get }

    /// One sentence about the command, for `--help`.
    static var abstract: String { get }

    /// The output of `--version`; by default the schema's version.
    static var version: String { get }

    /// An example for `query --help`, as typed after `query`.
    static var exampleQuery: String { get }

    /// The engines that users may be on and whose stores can be named; by default SQLite and LMDB.
    ///
    /// - Throws: an error in the engines; the command prints it in one line and does nothing.
    static var engines: Engines { get throws }

    /// The source of the rollout's flags, unless `--flags`, the environment or the configuration names a flag file; nil, the default, for the flag
    /// file under the root.
    static var flagProvider: (any RolloutFlagProvider)? { get }

    /// The servers that `--servers` may name; nil, the default, for none.
    static var servers: ServerEngines? { get }

    /// The commands in the order of `--help`; by default ``OperatorCommands/groups``.
    static var groups: [CommandGroup] { get }

    /// The app's own commands, listed before the groups; by default none.
    static var subcommands: [any ParsableCommand.Type] { get }

    /// Changes the options of users' stores, for all commands that open them.
    ///
    /// - Parameter options: the command's options: it does not move users in the background, logs only critical messages, and has the ``plan``. The
    ///   settings then set the gate's policy, the keys for evidence and how many users may be open.
    static func configure(_ options: inout RolloutOptions)
}
