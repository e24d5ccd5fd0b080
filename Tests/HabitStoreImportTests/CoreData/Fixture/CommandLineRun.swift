import Foundation
import Testing

/// A run of the command `habitstore` in its own home folder.
struct CommandLineRun {
    let status: Int32
    let output: String
    let errors: String

    /// The built command next to the tests.
    static func binary() throws -> URL {
        let folders = [
            Bundle.main.executableURL?.deletingLastPathComponent(),
            Bundle(for: CoreDataFixture.self).bundleURL.deletingLastPathComponent(),
            CommandLine.arguments.first.map { URL(fileURLWithPath: $0).deletingLastPathComponent() },
        ]
        let candidates = folders.compactMap { $0?.appendingPathComponent("habitstore") }
        return try #require(
            candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) },
            "the command is not built; it is expected at one of \(candidates.map(\.path))"
        )
    }

    init(_ arguments: String..., home: URL) throws { try self.init(arguments, home: home) }

    init(_ arguments: [String], home: URL) throws {
        let process = Process()
        process.executableURL = try Self.binary()
        process.arguments = arguments
        var environment = ProcessInfo.processInfo.environment
        environment["HOME"] = home.path
        environment["HABITSTORE_ROOT"] = home.appendingPathComponent("root").path
        environment["HABITSTORE_USER"] = "alice"
        process.environment = environment
        let files = ["out", "err"].map { home.appendingPathComponent("\($0)-\(UUID().uuidString)") }
        for file in files { try Data().write(to: file) }
        process.standardOutput = try FileHandle(forWritingTo: files[0])
        process.standardError = try FileHandle(forWritingTo: files[1])
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        status = process.terminationStatus
        output = String(decoding: try Data(contentsOf: files[0]), as: UTF8.self)
        errors = String(decoding: try Data(contentsOf: files[1]), as: UTF8.self)
    }
}
