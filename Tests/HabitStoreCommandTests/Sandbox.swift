import Foundation
import Testing

/// A temporary home folder, with the command run in it.
final class Sandbox: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("command-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        _ = try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: url.path)
        _ = try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    @discardableResult
    func write(_ name: String, _ text: String) throws -> String {
        let file = url.appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data(text.utf8).write(to: file)
        return file.path
    }

    /// Writes a default flag file that names an engine for all users.
    func want(_ engine: String) throws {
        try write(
            "data/habitstore/habit-store.flagd.json",
            """
            {"flags": {"habit-store-backend": {
              "state": "ENABLED", "variants": {"\(engine)": "\(engine)"}, "defaultVariant": "\(engine)"
            }}}
            """
        )
    }

    /// Runs the command for the user `alice`.
    func run(_ arguments: String..., environment: [String: String?] = [:]) throws -> CommandRun {
        try run(arguments, environment: environment)
    }

    func run(_ arguments: [String], environment: [String: String?] = [:]) throws -> CommandRun {
        let process = try process(arguments, environment: environment)
        // Files instead of pipes: a full pipe would block the command forever.
        let streams = (try stream(), try stream())
        process.standardOutput = streams.0.handle
        process.standardError = streams.1.handle
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit, "\(arguments) ended by signal \(process.terminationStatus)")
        return CommandRun(
            status: process.terminationStatus,
            output: try streams.0.text(),
            errors: try streams.1.text()
        )
    }

    /// The command's process for the user `alice`, without standard input.
    func process(_ arguments: [String], environment: [String: String?] = [:]) throws -> Process {
        let process = Process()
        process.executableURL = try Self.binary()
        process.arguments = arguments
        process.currentDirectoryURL = url
        let inherited = ProcessInfo.processInfo.environment
        var variables = inherited.filter { name, _ in ["PATH", "LD_LIBRARY_PATH", "TMPDIR"].contains(name) }
        variables["HOME"] = url.path
        variables["XDG_DATA_HOME"] = path("data")
        variables["XDG_CONFIG_HOME"] = path("config")
        variables["HABITSTORE_USER"] = "alice"
        variables["HABITSTORE_TIME_ZONE"] = "Europe/Berlin"
        for (name, value) in environment { variables[name] = value }
        process.environment = variables
        process.standardInput = FileHandle.nullDevice
        return process
    }

    /// The built command next to the tests.
    static func binary() throws -> URL {
        let folders = [
            Bundle.main.executableURL?.deletingLastPathComponent(),
            Bundle(for: Sandbox.self).bundleURL.deletingLastPathComponent(),
            CommandLine.arguments.first.map { URL(fileURLWithPath: $0).deletingLastPathComponent() },
        ]
        let candidates = folders.compactMap { $0?.appendingPathComponent("habitstore") }
        return try #require(
            candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) },
            "the command is not built; it is expected at one of \(candidates.map(\.path))"
        )
    }

    /// Every file and folder below a path with its content, to detect changes.
    ///
    /// Excludes the files that processes use to coordinate, readers too: lock files, SQLite's shared memory, and its log while it is empty. None of
    /// them
    /// contains records.
    func state(of name: String = "") throws -> [String: Data] {
        let base = name.isEmpty ? url.path : path(name)
        var state: [String: Data] = [:]
        for item in try FileManager.default.subpathsOfDirectory(atPath: base) {
            let content = FileManager.default.contents(atPath: base + "/" + item) ?? Data()
            let coordinates = item.hasSuffix("-lock") || item.hasSuffix("-shm")
            if coordinates || (item.hasSuffix("-wal") && content.isEmpty) { continue }
            state[item] = content
        }
        return state
    }

    private struct Stream {
        let url: URL
        let handle: FileHandle

        func text() throws -> String {
            try handle.close()
            let data = try Data(contentsOf: url)
            try FileManager.default.removeItem(at: url)
            return String(decoding: data, as: UTF8.self)
        }
    }

    private func stream() throws -> Stream {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("stream-\(UUID().uuidString)")
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
        return Stream(url: file, handle: try FileHandle(forWritingTo: file))
    }
}
