import ArgumentParser
@_spi(Engines) import HabitStore
import HabitStoreMapped
import HabitStoreRollout
import StandardEngines
import Synchronization

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
    /// - Parameter options: the command's options: it does not move users in the background, logs only critical messages, and has the ``plan``. What
    ///   the settings say of the gate's policy, the keys for evidence and how many users may be open counts more.
    static func configure(_ options: inout RolloutOptions)
}

/// Makes a ``RolloutCommand``'s engines for the servers in `--servers` and in stores' addresses.
///
/// <!-- example: inside NotesOperator -->
/// ```swift
/// static let servers: ServerEngines? = ServerEngines(anywhere: { try PostgresProvider() }) {
///     try PostgresProvider(name: $0, server: $1)
/// }
/// ```
public struct ServerEngines: Sendable {
    let anywhere: @Sendable () throws -> any EngineProvider
    let named: @Sendable (EngineName, String) throws -> any EngineProvider

    /// - Parameters:
    ///   - anywhere: makes the engine for stores whose address names the server.
    ///   - named: makes the engine of a server that users may be on, from its name in flag files and its connection URI.
    public init(
        anywhere: @escaping @Sendable () throws -> any EngineProvider,
        named: @escaping @Sendable (EngineName, String) throws -> any EngineProvider
    ) {
        (self.anywhere, self.named) = (anywhere, named)
    }
}

/// The declarations of the process's ``RolloutCommand``, read once.
package struct Tool: Sendable {
    let command: any RolloutCommand.Type
    /// The command's name.
    package let name: String
    /// The schema of users' stores.
    package let schema: Schema
    /// The plan that migrates older stores to it.
    package let plan: (any SchemaMigrationPlan.Type)?
    /// The engines that users may be on if no servers are named.
    let engines: Engines
    /// The same engines, and the one for stores on the server that an address names.
    let known: Engines
    /// Makes the engines of servers.
    let servers: ServerEngines?

    private static let declared = Mutex<Tool?>(nil)

    /// The tool of this process.
    package static var current: Tool { declared.withLock { $0 } ?? .undeclared }

    /// Declares which command the process is; called once, before arguments are read.
    ///
    /// - Throws: an error in the command's declarations.
    static func become(_ command: any RolloutCommand.Type) throws {
        OperatorCommand.name = command.name
        let tool = try Tool(declaredBy: command)
        declared.withLock { $0 = tool }
    }

    init(declaredBy command: any RolloutCommand.Type) throws {
        (self.command, name, plan, servers) = (command, command.name, command.plan, command.servers)
        schema = try command.schema
        engines = try command.engines
        known = try servers.map { [engines] in try Engines(engines.providers + [$0.anywhere()]) } ?? engines
        guard let last = try plan?.current().version, last != schema.version else { return }
        throw HabitStoreError(
            .schemaMismatch,
            "\(command) has the schema version \(schema.version), and its plan ends at version \(last); they have to be the same"
        )
    }
}

/// The tool of a process without such a command, as of tests of a single part: it knows no schema.
extension Tool {
    private struct Undeclared: RolloutCommand {
        static let name = "habitstore"
        static let schema = Schema(shapes: [])
    }

    private static let undeclared = Tool(
        command: Undeclared.self,
        name: Undeclared.name,
        schema: Undeclared.schema,
        plan: Undeclared.plan,
        engines: .standard,
        known: .standard,
        servers: nil
    )

    private init(
        command: any RolloutCommand.Type,
        name: String,
        schema: Schema,
        plan: (any SchemaMigrationPlan.Type)?,
        engines: Engines,
        known: Engines,
        servers: ServerEngines?
    ) {
        (self.command, self.name, self.schema, self.plan) = (command, name, schema, plan)
        (self.engines, self.known, self.servers) = (engines, known, servers)
    }
}

/// The words with which help texts describe the tool.
extension Tool {
    /// The name to type.
    package static var name: String { OperatorCommand.name }

    /// How stores in files are written: `sqlite:PATH, lmdb:PATH`.
    package static var storeForms: String { forms(current.engines).joined(separator: ", ") }

    /// How new stores are written; an app's own file is never a new one.
    static var newStoreForms: [String] { forms(current.known, isNew: true) }

    /// How the stores of some engines are written, those on servers only if there are no others.
    static func forms(_ engines: Engines, isNew: Bool = false) -> [String] {
        let names = engines.providers.filter { !$0.isShared && !(isNew && $0.name == .mapped) }.map(\.name)
        return names.isEmpty ? ["postgres://SERVER#NAME"] : names.map { "\($0):PATH" }
    }

    /// The prefix of the environment variables.
    package static var environment: String { CommandName.environment(of: name) }

    /// The schema's entities: `Habit, Entry, Tag or Draft`.
    static var entities: String {
        let names = current.schema.entities.map(\.name)
        guard let last = names.last, names.count > 1 else { return names.joined() }
        return names.dropLast().joined(separator: ", ") + " or " + last
    }
}

/// Derives names of commands and of their environment variables.
enum CommandName {
    /// A type's name in lowercase, with dashes between its words: `notes-operator` for `NotesOperator`.
    static func words(of type: String) -> String {
        var words = ""
        var last: Character?
        for letter in type {
            if letter.isUppercase, last?.isLowercase == true || last?.isNumber == true { words += "-" }
            words += letter.lowercased()
            last = letter
        }
        return words
    }

    /// The prefix of a command's environment variables: `NOTES_OPERATOR` for `notes-operator`.
    static func environment(of name: String) -> String {
        String(name.uppercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
    }
}
