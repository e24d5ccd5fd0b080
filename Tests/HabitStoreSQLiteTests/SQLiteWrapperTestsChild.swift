import Foundation
import HabitStoreTesting
import Testing

/// A second process with its own SQLite: python3 runs a script against the store.
///
/// The script prints a line at the point that the test waits for, and continues when its input ends.
struct SQLiteWrapperChild {
    /// Whether there is a python3 with its sqlite3 module.
    static let isAvailable: Bool = {
        let child = try? SQLiteWrapperChild(script: "import sqlite3, fcntl", arguments: [])
        return (try? child?.finish()) == 0
    }()

    private let child: ChildProcess

    init(script: String, arguments: [String]) throws {
        child = try ChildProcess("python3", ["-c", script] + arguments, input: .open, errors: .inherited)
    }

    /// Waits for the line that the script prints.
    func waitUntilReady() throws {
        try #require(child.waitForOutput { $0.contains(UInt8(ascii: "\n")) })
        try #require(String(decoding: child.output, as: UTF8.self) == "ready\n")
    }

    /// Lets the script continue, waits for its end, and returns its exit status.
    func finish() throws -> Int32 { try child.finish().status }

    /// Kills the script without a chance to clean up.
    func kill() { child.kill() }
}
