import Foundation
import Testing

@testable import FeatureFlags

@Suite struct LoadingTests {
    private let good = #"{"flags": {"f": {"state": "ENABLED", "variants": {"on": true}, "defaultVariant": "on"}}}"#

    private func failure(loading path: String) throws -> FlagError {
        let error = try #require(throws: FlagError.self) { _ = try FlagSnapshot.load(path: path) }
        #expect(error.location.file == path)
        return error
    }

    @Test func aFileIsLoadedAlsoThroughALink() throws {
        try withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("flags.json")
            try Data(good.utf8).write(to: file)
            let link = directory.appendingPathComponent("link.json")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            for path in [file.path, link.path] {
                let snapshot = try FlagSnapshot.load(path: path)
                #expect(snapshot.source == path)
                #expect(snapshot.boolean("f", default: false).value)
            }
        }
    }

    @Test func aMissingFileIsNamedAsSuch() throws {
        try withTemporaryDirectory { directory in
            #expect(try failure(loading: directory.appendingPathComponent("none.json").path).code == .fileNotFound)
            let file = directory.appendingPathComponent("flags.json")
            try Data(good.utf8).write(to: file)
            #expect(try failure(loading: file.path + "/below").code == .fileNotFound)
            #expect(try failure(loading: file.path + "\0.json").code == .fileNotFound)
            let link = directory.appendingPathComponent("dangling.json").path
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "nowhere")
            #expect(try failure(loading: link).code == .fileNotFound)
        }
        #expect(try failure(loading: "").code == .fileNotFound)
    }

    @Test func aDirectoryAndAPipeAreNamedAsSuch() throws {
        try withTemporaryDirectory { directory in
            let error = try failure(loading: directory.path)
            #expect(error.code == .notAFile)
            #expect(error.message.contains("a directory"))
            // A pipe without a writer: opening it without O_NONBLOCK would never return.
            let pipe = directory.appendingPathComponent("pipe").path
            try #require(mkfifo(pipe, 0o600) == 0)
            #expect(try failure(loading: pipe).code == .notAFile)
        }
    }

    @Test func aFileThatCannotBeOpenedIsNamedAsSuch() throws {
        try withTemporaryDirectory { directory in
            // A link to itself is refused for every user, while permissions do not stop root.
            let loop = directory.appendingPathComponent("loop").path
            try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: "loop")
            #expect(try failure(loading: loop).code == .fileUnreadable)
            guard geteuid() != 0 else { return }
            let file = directory.appendingPathComponent("flags.json").path
            try #require(FileManager.default.createFile(atPath: file, contents: Data(good.utf8)))
            try #require(chmod(file, 0) == 0)
            #expect(try failure(loading: file).code == .fileUnreadable)
        }
    }

    @Test func aFileThatIsTooLargeIsNamedAsSuch() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("flags.json").path
            try #require(FileManager.default.createFile(atPath: path, contents: Data(good.utf8)))
            try #require(truncate(path, off_t(FlagLimits.fileSizeBytes + 1)) == 0)
            let error = try failure(loading: path)
            #expect(error.code == .fileTooLarge)
            #expect(error.message.contains("16777216 bytes"))
        }
        let error = try loadingError([UInt8](repeating: 0x20, count: FlagLimits.fileSizeBytes + 1))
        #expect(error.code == .fileTooLarge)
    }

    @Test func aMalformedFileIsNamedWithItsLineAndColumn() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("flags.json").path
            try #require(FileManager.default.createFile(atPath: path, contents: Data("{\n  \"flags\": {,}\n}".utf8)))
            let error = try failure(loading: path)
            #expect(error.code == .parseError)
            #expect(error.description == "\(path):2:13: a name in quotes is expected here [PARSE_ERROR]")
        }
    }

    /// Every truncated flag file is an error with a location, and never a different set of flags.
    @Test func aTruncatedFileIsAnErrorValue() throws {
        let path = repositoryRoot.appendingPathComponent("Flags/habit-store.flagd.json").path
        let bytes = try #require(FileManager.default.contents(atPath: path)).trimmingEnd()
        for length in 0..<bytes.count {
            let error = try loadingError(Array(bytes.prefix(length)))
            #expect(error.code == .parseError)
            #expect(error.location.line != nil)
        }
        _ = try FlagSnapshot(json: Data(bytes), source: "whole")
    }
}

extension Data {
    fileprivate func trimmingEnd() -> [UInt8] {
        var bytes = Array(self)
        while let last = bytes.last, last == 0x0A || last == 0x20 { bytes.removeLast() }
        return bytes
    }
}
