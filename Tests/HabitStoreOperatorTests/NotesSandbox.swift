import Foundation
import HabitStore
import HabitStoreSQLite
import HabitStoreTesting
import Testing

@testable import NotesOperator

/// Runs the notes command in a separate home folder.
final class NotesSandbox: Sendable {
    /// The result of a run of the command.
    typealias Run = ChildProcess.End

    private let folder: TemporaryFolder
    private var url: URL { folder.url }

    init() throws { folder = try TemporaryFolder() }

    /// The default folder of users' stores.
    var root: String { path("data/notes-ops") }

    func path(_ name: String) -> String { folder.path(name) }

    func write(_ name: String, _ text: String) throws { try folder.write(name, text) }

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
        let own: [String: String?] = [
            "HOME": url.path, "XDG_DATA_HOME": path("data"), "XDG_CONFIG_HOME": path("config"),
            "NOTES_OPS_USER": "alice",
        ]
        let run = try ChildProcess.run(
            BuiltProgram.path("NotesOperator"),
            arguments,
            in: url,
            environment: ChildProcess.environment(
                own.merging(environment) { $1 },
                of: ["PATH", "LD_LIBRARY_PATH", "TMPDIR"]
            )
        )
        #expect(!run.isSignalled, "\(arguments) ended by signal \(run.status)")
        return run
    }
}

extension NotesSandbox.Run {
    /// Checks that it succeeded and printed nothing on standard error.
    @discardableResult
    func succeeded(sourceLocation: SourceLocation = #_sourceLocation) -> Self {
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
