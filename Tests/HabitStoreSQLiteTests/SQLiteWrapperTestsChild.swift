import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A second process with its own SQLite: python3 runs a script against the store.
///
/// The script prints a line at the point that the test waits for, and continues when its input ends.
///
/// `@unchecked`: one thread at a time uses it.
final class SQLiteWrapperChild: @unchecked Sendable {
    /// Whether there is a python3 with its sqlite3 module.
    static let isAvailable: Bool = {
        do {
            let child = try SQLiteWrapperChild(script: "import sqlite3, fcntl", arguments: [])
            return try child.finish() == 0
        } catch {
            return false
        }
    }()

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(script: String, arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", script] + arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    /// Waits for the line that the script prints.
    func waitUntilReady() throws {
        let data = try #require(try output.fileHandleForReading.read(upToCount: 6))
        try #require(String(decoding: data, as: UTF8.self) == "ready\n")
    }

    /// Lets the script continue, waits for its end, and returns its exit status.
    func finish() throws -> Int32 {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// Kills the script without a chance to clean up.
    func kill() {
        #if canImport(Glibc)
        _ = Glibc.kill(process.processIdentifier, SIGKILL)
        #elseif canImport(Musl)
        _ = Musl.kill(process.processIdentifier, SIGKILL)
        #else
        _ = Darwin.kill(process.processIdentifier, SIGKILL)
        #endif
        process.waitUntilExit()
    }
}
