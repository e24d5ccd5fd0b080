import Foundation

/// Prometheus' own checks, if `scripts/with-promtool.sh` has found them.
enum Promtool {
    private static let path = ProcessInfo.processInfo.environment["HABITSTORE_PROMTOOL"]

    static var isThere: Bool { path != nil }

    /// Runs it.
    ///
    /// - Parameter input: its standard input.
    /// - Returns: its exit status and output.
    static func run(_ arguments: [String], input: String = "") throws -> (status: Int32, text: String) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("promtool-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (asked, said) = (folder.appendingPathComponent("input"), folder.appendingPathComponent("output"))
        try Data(input.utf8).write(to: asked)
        try Data().write(to: said)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path ?? "")
        process.arguments = arguments
        process.standardInput = try FileHandle(forReadingFrom: asked)
        let output = try FileHandle(forWritingTo: said)
        process.standardOutput = output
        process.standardError = output
        try process.run()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: try Data(contentsOf: said), as: UTF8.self))
    }

    /// The objections of `promtool check metrics` to a text; empty if it accepts it.
    static func objections(to text: String) throws -> String {
        let checked = try run(["check", "metrics"], input: text)
        return checked.status == 0 ? "" : "exit code \(checked.status): \(checked.text)"
    }
}
