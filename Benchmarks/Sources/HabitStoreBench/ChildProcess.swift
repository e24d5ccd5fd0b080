import Foundation

/// This program as another process, with fresh memory.
enum ChildProcess {
    /// Runs the program with other arguments.
    ///
    /// - Parameters:
    ///   - program: the path of another program.
    ///   - meanwhile: called repeatedly while it runs.
    /// - Returns: its output, without the last newline.
    static func output(
        of program: String = CommandLine.arguments[0],
        _ arguments: [String],
        meanwhile: (() throws -> Void)? = nil
    ) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        while let meanwhile, process.isRunning {
            try meanwhile()
            Thread.sleep(forTimeInterval: 0.02)
        }
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchError("the process \(arguments) failed") }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The time of the clock that all processes share.
    static func nanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Ends this child process with an error.
    static func fail(_ error: any Error) -> Never {
        FileHandle.standardError.write(Data("habitstore-bench: error: \(error)\n".utf8))
        exit(1)
    }
}

/// This program as another process that exchanges lines with this one.
struct TalkingChild {
    let process: Process
    private let input: FileHandle
    private let output: FileHandle

    init(_ arguments: [String]) throws {
        let (input, output) = (Pipe(), Pipe())
        process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        (self.input, self.output) = (input.fileHandleForWriting, output.fileHandleForReading)
    }

    func send(_ text: String) { input.write(Data(text.utf8)) }

    func line() -> String? {
        var bytes: [UInt8] = []
        while let byte = output.readData(ofLength: 1).first, byte != UInt8(ascii: "\n") { bytes.append(byte) }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Ends its input, and waits for it to end.
    func end() throws {
        try input.close()
        process.waitUntilExit()
    }
}
