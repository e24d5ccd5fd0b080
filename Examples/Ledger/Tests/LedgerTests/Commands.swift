import Foundation
import Testing

/// A folder in which both versions of the app and the operator's command run, as processes.
struct Commands {
    let folder: URL

    /// Where the executables are: next to the tests.
    static let executables = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardizedFileURL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for file in ["flags.json", "Sources/LedgerModel/mapping.json"] {
            let source = Self.package.appendingPathComponent(file)
            let target = folder.appendingPathComponent(source.lastPathComponent)
            try FileManager.default.copyItem(at: source, to: target)
        }
    }

    static var readme: String {
        get throws { try String(contentsOf: package.appendingPathComponent("README.md"), encoding: .utf8) }
    }

    func remove() throws { try FileManager.default.removeItem(at: folder) }

    /// Starts a line of a shell.
    func start(_ line: String, output: FileHandle) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "exec 2>&1; " + line]
        process.currentDirectoryURL = folder
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["PATH": "\(Self.executables.path):\(path)", "COLUMNS": "200", "NO_COLOR": "1"]
        ) { _, new in new }
        process.standardOutput = output
        try process.run()
        return process
    }

    /// Runs a line of a shell, and returns what it prints.
    @discardableResult
    func run(_ line: String) throws -> (status: Int32, lines: [String]) {
        let pipe = Pipe()
        let process = try start(line, output: pipe.fileHandleForWriting)
        try pipe.fileHandleForWriting.close()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, output.split(separator: "\n").map(String.init))
    }
}

/// A process that writes without end, whose lines say what became of each booking.
final class Writer {
    private let process: Process
    private let output: URL

    init(_ version: String, _ prefix: String, _ commands: Commands) throws {
        output = commands.folder.appendingPathComponent("\(prefix).out")
        try Data().write(to: output)
        let handle = try FileHandle(forWritingTo: output)
        process = try commands.start("exec \(version) write \(prefix)", output: handle)
        try handle.close()
    }

    /// Kills the process, whatever it is doing.
    func kill() {
        _ = Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// The bookings that are on disk, as the process said, and the refusals.
    var lines: (written: Set<String>, refused: [String]) {
        get throws {
            let lines = try String(contentsOf: output, encoding: .utf8).split(separator: "\n").map(String.init)
            let written = lines.filter { $0.hasPrefix("written ") }.map { String($0.dropFirst("written ".count)) }
            return (Set(written), lines.filter { !$0.hasPrefix("written ") })
        }
    }
}
