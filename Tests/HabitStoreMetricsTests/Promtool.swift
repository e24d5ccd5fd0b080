import Foundation
import HabitStoreTesting

/// Prometheus' own checks, if `scripts/with-promtool.sh` has found them.
enum Promtool {
    private static let path = ProcessInfo.processInfo.environment["HABITSTORE_PROMTOOL"]

    static var isThere: Bool { path != nil }

    /// Runs it.
    ///
    /// - Parameter input: its standard input.
    /// - Returns: its exit status and output.
    static func run(_ arguments: [String], input: String = "") throws -> ChildProcess.End {
        let folder = try TemporaryFolder()
        let file = try folder.write("input", input)
        return try ChildProcess.run(path ?? "", arguments, input: .file(file), errors: .output)
    }

    /// The objections of `promtool check metrics` to a text; empty if it accepts it.
    static func objections(to text: String) throws -> String {
        let checked = try run(["check", "metrics"], input: text)
        return checked.status == 0 ? "" : "exit code \(checked.status): \(checked.output)"
    }
}
