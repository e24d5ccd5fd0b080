import Foundation
import HabitStore
import Trials

/// A process of its own that uses a user's store until it is told to end.
final class TrafficProcess {
    private let process = Process()
    private let input = Pipe()
    private let log: String

    init(_ kind: String, root: String, flags: String, log: String) throws {
        self.log = log
        process.executableURL = try Self.trials()
        process.arguments = ["traffic", kind, root, flags, log]
        process.standardInput = input
        try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    /// Ends it, and tells what it did.
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

    /// The executable of the trials, which lies beside the tests.
    static func trials() throws -> URL {
        let folders = [
            Bundle.main.executableURL?.deletingLastPathComponent(),
            Bundle(for: TrafficProcess.self).bundleURL.deletingLastPathComponent(),
            URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent(),
        ]
        let candidates = folders.compactMap { $0?.appendingPathComponent("habitstore-trials") }
        guard let found = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }) else {
            throw HabitStoreError(.notFound, "the trials are not built: \(candidates)")
        }
        return found
    }
}
