import ArgumentParser
import HabitStoreOperator
import HabitStorePostgres

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
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object(["server": .string(server.uri), "lacks": .array(lacks.map { .string($0) })])
            )
        case .text:
            let lines = lacks.isEmpty ? ["the server lacks nothing"] : lacks
            try Output.write(lines.map { $0 + "\n" }.joined())
        }
        if !lacks.isEmpty { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
