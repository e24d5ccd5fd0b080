import Foundation
import HabitStoreTesting

/// A run of the command `habitstore` in its own home folder.
typealias CommandLineRun = ChildProcess.End

extension CommandLineRun {
    /// The path of the built command.
    static func binary() throws -> String { try BuiltProgram.path("habitstore") }

    init(_ arguments: String..., home: URL) throws { try self.init(arguments, home: home) }

    /// - Parameter program: another app's command.
    init(_ arguments: [String], program: String? = nil, home: URL) throws {
        self = try ChildProcess.run(
            try program.map { try BuiltProgram.path($0) } ?? Self.binary(),
            arguments,
            environment: ChildProcess.environment([
                "HOME": home.path, "HABITSTORE_ROOT": home.appendingPathComponent("root").path,
                "HABITSTORE_USER": "alice", "NOTES_OPS_ROOT": home.appendingPathComponent("notes").path,
            ])
        )
    }
}
