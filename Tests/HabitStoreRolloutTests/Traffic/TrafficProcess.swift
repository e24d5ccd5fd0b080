import Foundation
import HabitStore
import Trials

/// A separate process that uses a user's store until `finish()`.
final class TrafficProcess {
    private let process = Process()
    private let input = Pipe()
    private let log: String

    init(_ kind: String, root: String, flags: String, log: String) throws {
        self.log = log
        process.executableURL = try TrialsExecutable.url
        process.arguments = ["traffic", kind, root, flags, log]
        process.standardInput = input
        try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    /// Ends the process, and returns its operations.
    func finish() throws -> [TrafficLine] {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw HabitStoreError(.internalInconsistency, "a process ended with \(process.terminationStatus)")
        }
        let text = try String(contentsOfFile: log, encoding: .utf8)
        return try text.split(separator: "\n").map { line in
            guard let parsed = TrafficLine(parsing: line) else {
                throw HabitStoreError(.internalInconsistency, "a line of the log is none: \(line)")
            }
            return parsed
        }
    }
}
