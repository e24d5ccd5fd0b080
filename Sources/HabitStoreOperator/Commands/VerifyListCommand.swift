import ArgumentParser
import ShadowVerifier

/// `habitstore verify list`.
struct VerifyListCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list",
            abstract: "Lists the mismatches that `\(Tool.name) verify --record` has written."
        )
    }

    @OptionGroup var output: OutputOptions

    @Option(name: .customLong("from"), help: "The file of recorded mismatches.")
    var file: String

    func run() async throws {
        let list = MismatchList(try MismatchRecording.load(path: file))
        switch output.format {
        case .json: try JSON.write(list)
        case .text: try Output.write(list.text(Terminal.options()))
        }
    }
}
