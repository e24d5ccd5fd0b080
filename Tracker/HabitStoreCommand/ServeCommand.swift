import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStorePostgres

/// `habitstore serve`: replaces itself with `habitstore-serve`, the page and its server. That is a separate program, so that nothing else
/// has to be built and linked with a server.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serves the page of a fleet, and its metrics at /metrics.",
        discussion: """
            It runs the program habitstore-serve, which must be next to this one or on the PATH; `make dashboard` \
            builds it. The page is served on loopback only, unless there is a token. Pausing, halting, resuming and \
            killing from the page ask for the token.
            """
    )

    @OptionGroup var userOptions: UserOptions

    @Option(help: ArgumentHelp("Where to listen.", valueName: "host:port"))
    var listen = "127.0.0.1:8737"

    @Option(
        help: ArgumentHelp(
            "A file with the token, for its owner only.",
            discussion: "[$HABITSTORE_TOKEN; default: none, for reading on loopback]",
            valueName: "path"
        )
    )
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "A host name of the page, in addition to addresses and localhost. May be repeated.",
            valueName: "name"
        )
    )
    var host: [String] = []

    @Flag(help: "Show users by their ids, instead of by a hash.")
    var showUsers = false

    func run() async throws {
        let settings = try await Settings(userOptions)
        var arguments = ["--listen", listen, "--root", settings.home, "--time-zone", settings.timeZone.identifier]
        if let store = settings.place.name { arguments += ["--store-name", store.text] }
        if let flags = settings.flags { arguments += ["--flags", flags] }
        if let tokenFile { arguments += ["--token-file", tokenFile] }
        for name in host { arguments += ["--host", name] }
        if showUsers { arguments.append("--show-users") }
        try SiblingTool(name: "habitstore-serve", target: "dashboard").become(arguments)
    }
}

/// A program that belongs to this one but is built separately, like git's subcommands.
struct SiblingTool {
    let name: String
    /// The `make` target that builds it.
    let target: String

    /// The path of the program, next to this one or from the PATH; nil if it is not found.
    ///
    /// - Parameters:
    ///   - own: the path of this program.
    ///   - search: folders separated by colons, like PATH.
    func path(own: String?, search: String) -> String? {
        let beside = own.map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().deletingLastPathComponent().path }
        // An empty PATH entry would mean the working directory, whose contents are not trusted.
        let folders = (beside.map { [$0] } ?? []) + search.split(separator: ":").map(String.init)
        return folders.map { $0 + "/" + name }.first(where: Self.isProgram)
    }

    private static func isProgram(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && !isDirectory.boolValue
            && FileManager.default.isExecutableFile(atPath: path)
    }

    /// Replaces this process with the program.
    ///
    /// - Throws: a one-line failure if the program is missing or cannot be run.
    func become(_ arguments: [String]) throws -> Never {
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        guard let path = path(own: Bundle.main.executablePath, search: search) else {
            throw CommandFailure(
                status: .inputOutput,
                message:
                    "\(name) is neither next to this program nor on the PATH; build it with `make \(target)`, and install it with "
                    + "`make install`"
            )
        }
        var words = ([path] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        execv(path, words)
        throw CommandFailure(
            status: .inputOutput,
            message: "\(path) cannot be run: \(String(cString: strerror(errno)))"
        )
    }
}

/// `habitstore server`.
struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "server",
        abstract: "Prepares a PostgreSQL server for stores, and reports what it lacks.",
        discussion: """
            The server is a libpq connection URI, postgresql://HOST,HOST/DATABASE?sslmode=verify-full. Missing parts \
            come from PGHOST, PGSERVICE and the like, and the password from PGPASSWORD or PGPASSFILE: an address with \
            a password is refused.
            """,
        subcommands: [ServerPrepareCommand.self, ServerCheckCommand.self]
    )
}

/// `habitstore server check URL`.
struct ServerCheckCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Reports what the server lacks to keep acknowledged writes.",
        discussion: "Exit code 0: nothing; 1: something."
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The server: postgresql://HOST:PORT/DATABASE.")
    var server: String

    func run() async throws {
        let server = try PostgresServer(server)
        let lacks = try server.check()
        try output.write(["server": server.uri, "lacks": lacks]) {
            let lines = lacks.isEmpty ? ["the server lacks nothing"] : lacks
            return lines.map { $0 + "\n" }.joined()
        }
        if !lacks.isEmpty { throw ExitCode(ExitStatus.different.rawValue) }
    }
}

/// `habitstore server prepare URL`.
struct ServerPrepareCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "prepare",
        abstract: "Creates the tables for stores if they are missing."
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The server: postgresql://HOST:PORT/DATABASE.")
    var server: String

    func run() async throws {
        let server = try PostgresServer(server)
        try server.prepare()
        try output.write(["server": server.uri, "isPrepared": true]) { "the server has the tables for stores\n" }
    }
}
