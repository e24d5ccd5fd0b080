import Foundation
import HabitStore

/// A file of lines that is only ever added to; what was added is on the disk when the call returns.
struct AppendedFile {
    /// The file.
    let path: String

    private static let chunk = 1 << 18

    /// Hands the lines there are to `body`, one after the other; none when there is no file.
    func forEachLine(_ body: (String) throws -> Void) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        let file: FileHandle
        do {
            file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        } catch {
            throw HabitStoreError(.inputOutput, "the file cannot be read", at: .init(path: path), underlying: error)
        }
        defer { try? file.close() }
        var rest: [UInt8] = []
        while let piece = try file.read(upToCount: Self.chunk), !piece.isEmpty {
            rest += piece
            let parts = rest.split(separator: 0x0a, omittingEmptySubsequences: false)
            for part in parts.dropLast() where !part.isEmpty { try body(String(decoding: part, as: UTF8.self)) }
            rest = Array(parts.last ?? [])
        }
        if !rest.isEmpty { try body(String(decoding: rest, as: UTF8.self)) }
    }

    /// Adds lines.
    func append(_ lines: [String]) throws {
        guard !lines.isEmpty else { return }
        let isNew = !FileManager.default.fileExists(atPath: path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw HabitStoreError.system(errno, "the file cannot be written", path) }
        defer { close(descriptor) }
        var bytes = Array(lines.joined(separator: "\n").utf8) + [0x0a]
        // What a crash has cut off must not swallow the next line.
        if !isNew, !endsWithLine() { bytes.insert(0x0a, at: 0) }
        try DurableFile.fill(descriptor, bytes, path)
        // A new file is found after a crash only when its folder was brought to the disk as well.
        if isNew { try DurableFile.syncFolder(of: path) }
    }

    private func endsWithLine() -> Bool {
        guard let file = FileHandle(forReadingAtPath: path) else { return true }
        defer { try? file.close() }
        guard let end = try? file.seekToEnd(), end > 0, (try? file.seek(toOffset: end - 1)) != nil else { return true }
        return (try? file.read(upToCount: 1)) == Data([0x0a])
    }
}
