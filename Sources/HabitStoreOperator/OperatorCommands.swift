import ArgumentParser
import FeatureFlags
import Foundation
import HabitStore
import HabitStoreRollout
import JSONText
import StandardEngines

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

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
    /// Maps the tables of another program's SQLite file to the schema, and imports them.
    public static let map: any ParsableCommand.Type = MapCommand.self
    /// Shows what is in a Core Data or SwiftData file, or in a store.
    public static let inspect: any ParsableCommand.Type = InspectCommand.self
    /// Imports exports, and Core Data and SwiftData files.
    public static let importing: any ParsableCommand.Type = ImportGroup.self
    /// Imports a Core Data or SwiftData file, for a program that has a group of imports of its own.
    public static let importCoreData: any ParsableCommand.Type = ImportCoreDataCommand.self
    /// Writes all records for other programs.
    public static let export: any ParsableCommand.Type = ExportCommand.self
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
                subcommands: [
                    verify, copy, migrate, check, query, history, info, inspect, schema, map, importing, export,
                ]
            ),
            CommandGroup(name: "Rollout", subcommands: [rollout, fleet, user, flags]),
        ]
    }
}

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
        "\((try? schema)?.entities.first?.name ?? "ENTITY") --limit 10 --store \(Tool.forms((try? engines) ?? .standard)[0])"
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
        let forms = Tool.forms((try? engines) ?? .standard).joined(separator: ", ")
        let server = servers == nil ? "" : "postgres://SERVER#NAME, "
        return """
            A store is written as \(forms), \(server)or as a path whose kind is recognised.
            Exit codes: 0 done, or identical; 1 different, damaged, refused, or something found; 2 only what rules ignore is \
            different; 64 wrong usage; 65 data that cannot be read; 74 a file that cannot be reached; 75 out of time.
            """
    }
}

extension RolloutCommand {
    /// Runs the command with the process's arguments.
    public static func main() async { await main(nil) }

    /// Runs the command; an error prints one line to standard error and sets the exit code.
    ///
    /// - Parameter arguments: the arguments, without the program's name; nil for the process's arguments.
    public static func main(_ arguments: [String]?) async {
        StandardStreams.claim()
        // If the reader goes away, a write fails, which unwinds and cleans up; the signal would not.
        signal(SIGPIPE, SIG_IGN)
        var showsDetail = false
        var (isJSON, isFollowing) = (false, false)
        do {
            try Tool.become(Self.self)
            MappedFileFault.endInOneLine()
            try ArgumentText.check()
            var command = try parsed(arguments ?? Array(CommandLine.arguments.dropFirst()))
            if let command = command as? any ReportingCommand {
                showsDetail = command.output.verbose
                (isJSON, isFollowing) = (command.output.format == .json, command.isFollowing)
            }
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let interrupted as Interrupted {
            interrupted.end()
        } catch {
            let report = ErrorReport(error, showsDetail: showsDetail)
            Foundation.exit(report.emit(asJSON: isJSON, asLine: isFollowing).rawValue)
        }
    }

    private static func parsed(_ arguments: [String]) throws -> any ParsableCommand {
        do {
            return try parseAsRoot(arguments)
        } catch {
            throw CommandWords.failure(arguments, of: Self.self) ?? error
        }
    }
}

/// The words at the beginning of a command line that name a command: `rollout status`.
enum CommandWords {
    /// The error for the first word that names no command although it should; nil if there is none.
    ///
    /// - Parameter arguments: the arguments, without the program's name.
    static func failure(_ arguments: [String], of root: any ParsableCommand.Type) -> CommandFailure? {
        var (command, path) = (root, [Tool.name])
        for word in arguments {
            let configuration = command.configuration
            let commands = configuration.subcommands + configuration.groupedSubcommands.flatMap(\.subcommands)
            guard !commands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            path.append(word)
            if let next = commands.first(where: { names($0).contains(word) }) {
                command = next
                continue
            }
            let question = NearMiss.question(word, among: commands.flatMap(names))
            // The word is an argument of the default subcommand.
            if configuration.defaultSubcommand != nil, question.isEmpty { return nil }
            let advice = question.isEmpty ? "; `\(path.dropLast().joined(separator: " ")) --help` lists them" : question
            return .usage("there is no command \(quoted(path.joined(separator: " ")))\(advice)")
        }
        return nil
    }

    private static func names(_ command: any ParsableCommand.Type) -> [String] {
        [command._commandName] + command.configuration.aliases
    }
}

/// Checks the arguments from the system.
enum ArgumentText {
    /// Checks that all arguments are UTF-8.
    ///
    /// Swift replaces bytes that are not UTF-8 with U+FFFD, so that the ids of two users or the paths of two files could become equal.
    ///
    /// - Throws: a usage error that names the first argument that is not UTF-8.
    static func check(
        _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> = CommandLine.unsafeArgv,
        count: Int = Int(CommandLine.argc)
    ) throws {
        for place in 1..<max(1, count) {
            guard let argument = arguments[place], String(validatingCString: argument) == nil else { continue }
            throw CommandFailure.usage("argument \(place) is not UTF-8; names, ids and paths have to be")
        }
    }
}

/// The file descriptors 0, 1 and 2.
enum StandardStreams {
    /// Opens those that the caller has closed. Otherwise the next opened file would get such a number, and an error message for standard error would
    /// be written into a store.
    ///
    /// They are opened for reading, so that writing to them fails.
    static func claim() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The system returns the lowest free number, which is this one.
            _ = open("/dev/null", O_RDONLY)
        }
    }
}

/// Handles the signal for mapped memory whose file has become shorter.
///
/// LMDB's file, its lock and SQLite's shared memory are mapped. If another program truncates one of them, the memory goes away, and no earlier check
/// of the size can rule that out.
enum MappedFileFault {
    /// The message, allocated before any signal and never freed, because a signal handler cannot allocate. Set before the handler, and only then.
    nonisolated(unsafe) private static var line = UnsafeBufferPointer<UInt8>(start: nil, count: 0)

    /// Makes the signal end the command with one line and exit code 74, instead of a dump of registers and memory.
    static func endInOneLine() {
        let text =
            "\(Tool.name): error: a store's file was cut off by another program, or its disk failed, while it was read\n"
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
        _ = bytes.initialize(from: text.utf8)
        line = UnsafeBufferPointer(bytes)
        signal(SIGBUS) { _ in
            _ = write(STDERR_FILENO, MappedFileFault.line.baseAddress, MappedFileFault.line.count)
            _exit(74)
        }
    }
}
