import Foundation
import HabitStore

/// What the target has no place for, beside the target: a file with one JSON object a line. Lines are only ever added, each
/// once, and are on the disk before the records are that they belong to.
final class ImportAttachment {
    /// The file.
    let path: String
    private var known: Set<String> = []
    private var pending: [String] = []
    private let encoder: JSONEncoder

    /// Takes up what an earlier import has written; a line that a crash cut off is written anew.
    init(path: String) throws {
        self.path = path
        encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard FileManager.default.fileExists(atPath: path) else { return }
        do {
            let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
            known = Set(text.split(separator: "\n").map(String.init))
        } catch {
            throw failure(error)
        }
    }

    /// Whether there is anything in it.
    var isEmpty: Bool { known.isEmpty && pending.isEmpty }

    /// Adds lines; they are written by ``flush()``.
    func add(_ losses: [ImportLoss]) throws {
        for loss in losses { try add(loss) }
    }

    /// Adds a line.
    func add(_ item: some Encodable) throws {
        let line: String
        do {
            line = String(decoding: try encoder.encode(item), as: UTF8.self)
        } catch {
            throw failure(error)
        }
        if known.insert(line).inserted { pending.append(line) }
    }

    /// Brings what was added to the disk.
    func flush() throws {
        guard !pending.isEmpty else { return }
        let isNew = !FileManager.default.fileExists(atPath: path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(errno) }
        defer { close(descriptor) }
        var bytes = Array(pending.joined(separator: "\n").utf8) + [0x0a]
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
        pending = []
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
            "the attachment cannot be written: \(String(cString: strerror(number)))",
            at: .init(path: path)
        )
    }

    private func failure(_ error: any Error) -> HabitStoreError {
        HabitStoreError(
            .inputOutput,
            "the attachment cannot be read or written",
            at: .init(path: path),
            underlying: error
        )
    }
}
