import ArgumentParser
import ShadowVerifier

/// `habitstore verify replay`.
struct VerifyReplayCommand: ReportingCommand {
    /// How many identifiers an error lists.
    private static let namedIdentifiers = 5

    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Repeats the comparison of a recorded mismatch, without the stores.",
        discussion: "Exit code 1 means that the difference is there, 2 that a rule ignored it."
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The mismatch's id, as the report or `\(Tool.name) verify list` shows it.")
    var id: String

    @Option(name: .customLong("from"), help: "The file of recorded mismatches.")
    var file: String

    func run() async throws {
        let recording = try MismatchRecording.load(path: file)
        guard let replay = try recording.replay(id.lowercased()) else { throw unknown(in: recording) }
        switch output.format {
        case .json: try JSON.write(replay)
        case .text: try Output.write(ReplayText(replay, options: Terminal.options()).text)
        }
        let status = replay.recorded.ignoredBy == nil ? ExitStatus.different : .ignored
        throw ExitCode(status.rawValue)
    }

    private func unknown(in recording: MismatchRecording) -> CommandFailure {
        let known = recording.differences.map(\.differenceID)
        guard !known.isEmpty else { return .usage("\(file): no mismatch is recorded in it") }
        let rest = known.count - Self.namedIdentifiers
        return .usage(
            "\(file): no mismatch \"\(id)\" is recorded in it; there are "
                + known.prefix(Self.namedIdentifiers).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
        )
    }
}
