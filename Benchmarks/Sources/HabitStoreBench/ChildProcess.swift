import Foundation

/// This program as another process, with nothing in its memory.
enum ChildProcess {
    /// Runs the program with other arguments.
    ///
    /// - Returns: what it has printed, without the end of the last line.
    static func output(_ arguments: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchError("the process \(arguments) did not end well") }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
