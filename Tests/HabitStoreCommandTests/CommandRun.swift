import Foundation
import HabitStoreTesting
import Testing

/// The result of a run of the command.
typealias CommandRun = ChildProcess.End

extension CommandRun {
    /// Standard output as a JSON object.
    func json() throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(output.utf8))
        return try #require(object as? [String: Any], "the output is not a JSON object: \(output)")
    }

    /// The objects of a list in the JSON output.
    func list(_ key: String) throws -> [[String: Any]] {
        try #require(try json()[key] as? [[String: Any]], "the output has no list \(key): \(output)")
    }

    /// Checks that the run ended with one line of error and no output.
    func expectError(
        _ status: Int32,
        containing text: String = "",
        lines: Int = 1,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(self.status == status, "\(errors)", sourceLocation: sourceLocation)
        #expect(errors.hasPrefix("habitstore: error: "), "\(errors)", sourceLocation: sourceLocation)
        #expect(text.isEmpty || errors.contains(text), "\(errors)", sourceLocation: sourceLocation)
        #expect(errors.hasSuffix("\n"), sourceLocation: sourceLocation)
        #expect(errors.filter { $0 == "\n" }.count == lines, "\(errors)", sourceLocation: sourceLocation)
        #expect(output.isEmpty, "\(output)", sourceLocation: sourceLocation)
    }

    /// Checks that the run succeeded without any output on standard error.
    func expectSuccess(sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(status == 0, "\(errors)", sourceLocation: sourceLocation)
        #expect(errors.isEmpty, "\(errors)", sourceLocation: sourceLocation)
    }
}
