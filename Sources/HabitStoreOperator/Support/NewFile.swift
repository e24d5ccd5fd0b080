import DurableFiles
import Foundation

/// A file for its owner only that is written in pieces and gets its name when it is complete.
final class NewFile {
    private let path: String
    private let draft: String
    private let file: OpenFile

    /// - Throws: a usage error if something exists at the path, and a ``CommandFailure`` if no file can be created.
    init(_ path: String) throws {
        let draft = DurableFile.ownDraft(of: path)
        (self.path, self.draft) = (path, draft)
        try Self.requireNothing(path)
        file = try Self.told(path) { () throws(FileFailure) in try OpenFile(newAt: draft) }
    }

    private static func requireNothing(_ path: String) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        throw CommandFailure.usage(
            "\(path): something exists here already and is not overwritten; name another place"
        )
    }

    func write(_ text: String) throws {
        try Self.told(path) { () throws(FileFailure) in try file.write(Array(text.utf8)) }
    }

    /// Gives the file its name.
    func publish() throws {
        try Self.requireNothing(path)
        try Self.told(path) { () throws(FileFailure) in
            try file.synchronize()
            try DurableFile.move(draft, to: path)
        }
    }

    /// Removes an incomplete file.
    func remove() { unlink(draft) }

    private static func told<R: ~Copyable>(_ path: String, _ body: () throws(FileFailure) -> R) throws -> R {
        do {
            return try body()
        } catch {
            throw CommandFailure(status: .inputOutput, message: "\(path): the file \(error)")
        }
    }
}
