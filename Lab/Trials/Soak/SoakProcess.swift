import Foundation
import HabitStore

/// A process that writes until its standard input ends.
final class SoakProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ command: SoakCommand, root: String) throws {
        process.executableURL = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments =
            [
                "soak", "--write-into", root, "--writers", "\(command.writers - command.writers / 2)",
                "--seed", "\(command.seed &* 17)", "--from", command.from.rawValue,
            ] + (command.server.map { ["--server", $0] } ?? [])
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    /// Ends the process.
    ///
    /// - Returns: how many transactions it wrote.
    func finish() throws -> Int {
        try input.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let count = Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
        else {
            throw HabitStoreError(
                .internalInconsistency,
                "the writing process exited with \(process.terminationStatus)"
            )
        }
        return count
    }
}
