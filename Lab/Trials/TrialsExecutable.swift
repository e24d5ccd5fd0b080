import Foundation
import HabitStore

/// The executable of the trials, for tests.
package enum TrialsExecutable {
    private final class Marker {}

    /// Its location next to the tests.
    package static var url: URL {
        get throws {
            let folders = [
                Bundle.main.executableURL?.deletingLastPathComponent(),
                Bundle(for: Marker.self).bundleURL.deletingLastPathComponent(),
                URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent(),
            ]
            let candidates = folders.compactMap { $0?.appendingPathComponent("habitstore-trials") }
            guard let found = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }) else {
                throw HabitStoreError(
                    .notFound,
                    "the trials are not built; expected at one of \(candidates.map(\.path))"
                )
            }
            return found
        }
    }

    /// Runs a trial to its end, and returns its status and output.
    package static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = try url
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }
}
