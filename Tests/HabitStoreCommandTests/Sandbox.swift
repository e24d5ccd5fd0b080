import Foundation
import HabitStoreTesting
import Testing

/// A temporary home folder, with the command run in it.
final class Sandbox: Sendable {
    let folder: TemporaryFolder
    var url: URL { folder.url }

    init() throws { folder = try TemporaryFolder() }

    func path(_ name: String) -> String { folder.path(name) }

    @discardableResult
    func write(_ name: String, _ text: String) throws -> String { try folder.write(name, text) }

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
        let run = try start(arguments, environment: environment).end()
        #expect(!run.isSignalled, "\(arguments) ended by signal \(run.status)")
        return run
    }

    /// Starts the command for the user `alice`, without standard input.
    func start(
        _ arguments: [String],
        environment: [String: String?] = [:],
        output: ChildProcess.Destination = .captured,
        errors: ChildProcess.Destination = .captured
    ) throws -> ChildProcess {
        let own: [String: String?] = [
            "HOME": url.path, "XDG_DATA_HOME": path("data"), "XDG_CONFIG_HOME": path("config"),
            "HABITSTORE_USER": "alice", "HABITSTORE_TIME_ZONE": "Europe/Berlin",
        ]
        return try ChildProcess(
            Self.binary(),
            arguments,
            in: url,
            environment: ChildProcess.environment(
                own.merging(environment) { $1 },
                of: ["PATH", "LD_LIBRARY_PATH", "TMPDIR"]
            ),
            output: output,
            errors: errors
        )
    }

    /// The path of the built command.
    static func binary() throws -> String { try BuiltProgram.path("habitstore") }

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
}
