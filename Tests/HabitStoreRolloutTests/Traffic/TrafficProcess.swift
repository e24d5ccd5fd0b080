import Foundation
import HabitStore
import HabitStoreTesting
import Trials

/// A separate process that uses a user's store until `finish()`.
struct TrafficProcess {
    private let child: ChildProcess
    private let log: String

    init(_ kind: String, root: String, flags: String, log: String) throws {
        self.log = log
        child = try ChildProcess(TrialsExecutable.path, ["traffic", kind, root, flags, log], input: .open)
    }

    /// Ends the process, and returns its operations.
    func finish() throws -> [TrafficLine] {
        let end = try child.finish()
        guard end.isSuccess else { throw HabitStoreError(.internalInconsistency, "a process \(end)") }
        let text = try String(contentsOfFile: log, encoding: .utf8)
        return try text.split(separator: "\n").map { line in
            guard let parsed = TrafficLine(parsing: line) else {
                throw HabitStoreError(.internalInconsistency, "a line of the log is none: \(line)")
            }
            return parsed
        }
    }
}
