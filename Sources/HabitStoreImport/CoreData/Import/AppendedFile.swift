import Foundation
import HabitStore

/// A file of lines that is only ever added to; what was added is on the disk when the call returns.
struct AppendedFile {
    /// The file.
    let path: String

    /// The lines there are; none when there is no file.
    func lines() throws -> [String] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        do {
            let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
            return text.split(separator: "\n").map(String.init)
        } catch {
            throw HabitStoreError(.inputOutput, "the file cannot be read", at: .init(path: path), underlying: error)
        }
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
