import ArgumentParser
import Foundation
import HabitStore
import Testing

@testable import HabitStoreOperator
@testable import NotesOperator

/// The name of an app's command, and where it looks for settings.
struct WordsTests {
    private struct TripKeeper: RolloutCommand {
        static let plan: (any SchemaMigrationPlan.Type)? = NotesPlan.self
    }

    private struct Undeclared: RolloutCommand {}

    private struct Contradicting: RolloutCommand {
        static let schema = NotesSchemaV1.schema
        static let plan: (any SchemaMigrationPlan.Type)? = NotesPlan.self
    }

    @Test func aCommandThatSaysNothingIsCalledByItsType() throws {
        #expect(TripKeeper.configuration.commandName == "trip-keeper")
        #expect(try TripKeeper.schema.version == Schema.Version(8, 0, 0))
        #expect(TripKeeper.configuration.version == "schema version 8.0.0")
        #expect(CommandName.words(of: "OPS") == "ops")
        #expect(CommandName.environment(of: "trip-keeper") == "TRIP_KEEPER")
    }

    @Test func aDeclarationThatCannotHoldIsRefused() throws {
        #expect(throws: HabitStoreError.self) { try Tool(declaredBy: Undeclared.self) }
        let refused = #expect(throws: HabitStoreError.self) { try Tool(declaredBy: Contradicting.self) }
        #expect(refused?.description.contains("schema version 7.0.0, and its plan ends at version 8.0.0") == true)
    }

    /// The export format is called `habitstore export`'s, whichever command writes it.
    @Test func noTextNamesAnotherCommand() throws {
        let sandbox = try NotesSandbox()
        for arguments in [["--experimental-dump-help"], ["rollout", "runbook"]] {
            let text = try sandbox.run(arguments).succeeded().output
                .replacing("habitstore export", with: "").replacing("habitstore_", with: "")
            #expect(text.contains("`notes-ops "))
            #expect(!text.contains("habitstore"), "\(text.split(separator: "\n").filter { $0.contains("habitstore") })")
        }
        #expect(try sandbox.run("--version").succeeded().output == "schema version 8.0.0\n")
        #expect(try sandbox.run("query", "--help").succeeded().output.contains("The entity: Notebook or Note."))
    }

    @Test func settingsGoByTheCommandsName() throws {
        let sandbox = try NotesSandbox()
        let environment = ["NOTES_OPS_ROOT": sandbox.path("mine"), "HABITSTORE_ROOT": sandbox.path("other")]
        try sandbox.run("add", "milk", environment: environment).succeeded()
        #expect(FileManager.default.fileExists(atPath: sandbox.path("mine/users")))
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("other")))
        try sandbox.write("config/notes-ops/config.json", #"{"root": "\#(sandbox.path("named"))"}"#)
        try sandbox.run("add", "milk").succeeded()
        #expect(FileManager.default.fileExists(atPath: sandbox.path("named/users")))
        let refused = try sandbox.run("add", "milk", "--servers", "db=postgresql://db1/notes")
        refused.failed(64, saying: "notes-ops keeps no users on servers")
    }
}
