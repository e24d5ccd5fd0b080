import Foundation
import Synchronization

/// A child process of a drill.
final class FleetDrillProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ command: String, _ arguments: [String]) throws {
        process.executableURL = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = [command] + arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    var isRunning: Bool { process.isRunning }

    /// The process's peak memory in bytes; nil if the system does not report it in `/proc`.
    var memoryBytes: Int? {
        let path = "/proc/\(process.processIdentifier)/status"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        return kibibytes << 10
    }

    /// Kills the process.
    ///
    /// - Returns: whether it was still running.
    func kill() -> Bool {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        return process.terminationReason == .uncaughtSignal
    }

    /// Waits for a run to end.
    func outcome() throws -> FleetRunChildCommand.Outcome {
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw FleetDrillFailure("a run exited with \(process.terminationStatus)")
        }
        return try JSONDecoder().decode(FleetRunChildCommand.Outcome.self, from: data)
    }

    /// Ends a process that works until its input ends.
    func finish() throws {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw FleetDrillFailure("a process of the drill exited with \(process.terminationStatus)")
        }
    }
}

/// The failures of several threads.
final class Failures: Sendable {
    private let found = Mutex<[String]>([])

    var all: [String] { found.withLock { $0 } }

    func add(_ failure: String) { found.withLock { $0.append(failure) } }
}
