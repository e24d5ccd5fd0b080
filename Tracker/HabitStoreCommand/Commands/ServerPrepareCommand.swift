import ArgumentParser
import HabitStoreOperator
import HabitStorePostgres

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
        switch output.format {
        case .json: try JSON.write(JSON.object(["server": .string(server.uri), "isPrepared": .bool(true)]))
        case .text: try Output.write("the server has the tables for stores\n")
        }
    }
}
