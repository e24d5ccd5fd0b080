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
        guard descriptor >= 0 else { throw failure(errno) }
        defer { close(descriptor) }
        var bytes = Array(lines.joined(separator: "\n").utf8) + [0x0a]
        // What a crash has cut off must not swallow the next line.
        if !isNew, !endsWithLine() { bytes.insert(0x0a, at: 0) }
        var done = 0
        while done < bytes.count {
            let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done) }
            if written >= 0 {
                done += written
            } else if errno != EINTR {
                throw failure(errno)
            }
        }
        guard fsync(descriptor) == 0 else { throw failure(errno) }
        if isNew { syncFolder() }
    }

    private func endsWithLine() -> Bool {
        guard let file = FileHandle(forReadingAtPath: path) else { return true }
        defer { try? file.close() }
        guard let end = try? file.seekToEnd(), end > 0, (try? file.seek(toOffset: end - 1)) != nil else { return true }
        return (try? file.read(upToCount: 1)) == Data([0x0a])
    }

    /// A new file is found after a crash only when its folder was brought to the disk as well.
    private func syncFolder() {
        let folder = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    private func failure(_ number: Int32) -> HabitStoreError {
        HabitStoreError(
            number == ENOSPC ? .full : .inputOutput,
            "the file cannot be written: \(String(cString: strerror(number)))",
            at: .init(path: path)
        )
    }
}
