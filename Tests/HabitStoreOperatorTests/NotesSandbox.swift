import Foundation
import HabitStore
import HabitStoreSQLite
import Testing

@testable import NotesOperator

/// Runs the notes command in a separate home folder.
final class NotesSandbox: Sendable {
    /// The result of a run of the command.
    struct Run {
        let status: Int32
        let output: String
        let errors: String

        /// Checks that it succeeded and printed nothing on standard error.
        @discardableResult
        func succeeded(sourceLocation: SourceLocation = #_sourceLocation) -> Run {
            #expect(status == 0 && errors.isEmpty, "\(status): \(output)\(errors)", sourceLocation: sourceLocation)
            return self
        }

        /// Checks that it ended with one line of error and nothing else.
        func failed(_ status: Int32, saying text: String, sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(self.status == status, "\(output)\(errors)", sourceLocation: sourceLocation)
            #expect(errors.hasPrefix("notes-ops: error: "), "\(errors)", sourceLocation: sourceLocation)
            #expect(errors.contains(text), "\(errors)", sourceLocation: sourceLocation)
            #expect(errors.filter(\.isNewline).count == 1, "\(errors)", sourceLocation: sourceLocation)
            #expect(output.isEmpty, "\(output)", sourceLocation: sourceLocation)
        }

        /// Standard output as a JSON object.
        func json() throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any], "\(output)")
        }
    }

    private let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("operator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { _ = try? FileManager.default.removeItem(at: url) }

    /// The default folder of users' stores.
    var root: String { path("data/notes-ops") }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    func write(_ name: String, _ text: String) throws {
        let file = url.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    /// Makes a store of notes.
    func makeStore(_ name: String, _ notes: String...) throws {
        let store = try SQLiteHabitStore(path: path(name), schema: NotesSchemaV2.schema, access: .create)
        defer { store.close() }
        try store.save(Notebook(name: "Everything"))
        for note in notes { try store.save(NotesSchemaV2.Note(title: note)) }
    }

    /// Makes a store of the first version's notes, which could not be pinned.
    func makeEarlierStore(_ name: String, _ notes: String...) throws {
        let store = try SQLiteHabitStore(path: path(name), schema: NotesSchemaV1.schema, access: .create)
        defer { store.close() }
        for note in notes { try store.save(NotesSchemaV1.Note(title: note)) }
    }

    /// Writes a flag file that wants a stage for all users, and a policy that asks for no reads.
    func want(_ stage: String) throws {
        try write("data/notes-ops/habit-store.policy.json", #"{"cleanShadowReads": 0}"#)
        try write(
            "data/notes-ops/habit-store.flagd.json",
            """
            {"flags": {
              "habit-store-stage": {"state": "ENABLED", "variants": {"v": "\(stage)"}, "defaultVariant": "v"},
              "habit-store-kill": {
                "state": "ENABLED", "variants": {"armed": false, "killed": true}, "defaultVariant": "armed"
              }
            }}
            """
        )
    }

    /// Runs the command for the user `alice`.
    func run(_ arguments: String..., environment: [String: String] = [:]) throws -> Run {
        try run(arguments, environment: environment)
    }

    func run(_ arguments: [String], environment: [String: String] = [:]) throws -> Run {
        let process = Process()
        process.executableURL = try Self.binary()
        process.arguments = arguments
        process.currentDirectoryURL = url
        let inherited = ProcessInfo.processInfo.environment.filter {
            ["PATH", "LD_LIBRARY_PATH", "TMPDIR"].contains($0.key)
        }
        let own = [
            "HOME": url.path, "XDG_DATA_HOME": path("data"), "XDG_CONFIG_HOME": path("config"),
            "NOTES_OPS_USER": "alice",
        ]
        process.environment = inherited.merging(own) { $1 }.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        let (output, errors) = (path("output-\(UUID().uuidString)"), path("errors-\(UUID().uuidString)"))
        // Files, not pipes: a full pipe would block the command forever.
        process.standardOutput = try Self.file(output)
        process.standardError = try Self.file(errors)
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit, "\(arguments) ended by signal \(process.terminationStatus)")
        return Run(status: process.terminationStatus, output: try Self.text(output), errors: try Self.text(errors))
    }

    private static func file(_ path: String) throws -> FileHandle {
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }

    private static func text(_ path: String) throws -> String {
        defer { _ = try? FileManager.default.removeItem(atPath: path) }
        return String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    }

    /// The built command, next to the tests.
    private static func binary() throws -> URL {
        let folders = [
            Bundle.main.executableURL?.deletingLastPathComponent(),
            Bundle(for: NotesSandbox.self).bundleURL.deletingLastPathComponent(),
            CommandLine.arguments.first.map { URL(fileURLWithPath: $0).deletingLastPathComponent() },
        ]
        let candidates = folders.compactMap { $0?.appendingPathComponent("NotesOperator") }
        return try #require(
            candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) },
            "the command is not built; it is expected at one of \(candidates.map(\.path))"
        )
    }
}
