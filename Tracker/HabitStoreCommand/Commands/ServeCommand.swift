import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator

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
        try Companion(name: "habitstore-serve", target: "dashboard").become(arguments)
    }
}
