import DurableFiles
import Foundation
import HabitStore

/// An append-only file of lines; appended lines are on disk when the call returns.
struct AppendedFile {
    let path: String

    /// Calls `body` with each line; with none if there is no file.
    func forEachLine(_ body: (String) throws -> Void) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        var rest: [UInt8] = []
        try FileFailure.told {
            try OpenFile(path, O_RDONLY).forEachChunk { chunk, _ in
                rest += chunk
                let parts = rest.split(separator: 0x0a, omittingEmptySubsequences: false)
                for part in parts.dropLast() where !part.isEmpty { try body(String(decoding: part, as: UTF8.self)) }
                rest = Array(parts.last ?? [])
                return true
            }
        }
        if !rest.isEmpty { try body(String(decoding: rest, as: UTF8.self)) }
    }

    func append(_ lines: [String]) throws {
        guard !lines.isEmpty else { return }
        let isNew = !FileManager.default.fileExists(atPath: path)
        var bytes = Array(lines.joined(separator: "\n").utf8) + [0x0a]
        // A line that a crash cut off must not swallow the next one.
        if !isNew, !endsWithLine() { bytes.insert(0x0a, at: 0) }
        try FileFailure.told {
            let file = try OpenFile(path, O_WRONLY | O_CREAT | O_APPEND)
            try file.write(bytes)
            try file.synchronize()
            // After a crash, a new file is only found if its folder was synchronized too.
            if isNew { try DurableFile.synchronizeFolder(of: path) }
        }
    }

    private func endsWithLine() -> Bool {
        guard let file = FileHandle(forReadingAtPath: path) else { return true }
        defer { try? file.close() }
        guard let end = try? file.seekToEnd(), end > 0, (try? file.seek(toOffset: end - 1)) != nil else { return true }
        return (try? file.read(upToCount: 1)) == Data([0x0a])
    }
}
