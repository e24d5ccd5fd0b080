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
            The program habitstore-serve does it, which is looked for beside this one and on the PATH; `make dashboard` builds it. It \
            answers on loopback only, unless there is a token. Pausing, halting, letting go on and killing from the page ask for the token.
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
            "A name under which the page is reached, beside addresses and localhost. May be repeated.",
            valueName: "name"
        )
    )
    var host: [String] = []

    @Flag(help: "Show users by their ids; else by a hash of them.")
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
