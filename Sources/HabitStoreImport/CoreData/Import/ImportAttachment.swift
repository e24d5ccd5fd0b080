import Foundation
import HabitStore
import Hashing

/// A file next to the target for what the target cannot hold, with one JSON object per line. It is append-only and contains each line once;
/// lines are on disk before the records they belong to.
final class ImportAttachment {
    private let file: AppendedFile
    /// The lines in the file, as the first half of their SHA-256: the lines themselves may exceed memory.
    private var known: Set<Line> = []
    private var pending: [String] = []
    private static let mostPending = 2_000
    private let encoder: JSONEncoder

    private struct Line: Hashable {
        let first: UInt64
        let second: UInt64

        init(_ text: String) {
            var hash = SHA256()
            hash.update(data: Data(text.utf8))
            (first, second) = hash.finalize().withUnsafeBytes { bytes in
                (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
        }
    }

    /// Reads what earlier imports wrote; a line that a crash cut off is written again.
    init(path: String) throws {
        file = AppendedFile(path: path)
        encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try file.forEachLine { known.insert(Line($0)) }
    }

    var path: String { file.path }

    var isEmpty: Bool { known.isEmpty && pending.isEmpty }

    /// Adds lines, which ``flush()`` writes.
    func add(_ losses: [ImportLoss]) throws {
        for loss in losses { try add(loss) }
    }

    func add(_ item: some Encodable) throws {
        let line = String(decoding: try encoder.encode(item), as: UTF8.self)
        guard known.insert(Line(line)).inserted else { return }
        pending.append(line)
        if pending.count >= Self.mostPending { try flush() }
    }

    /// Writes the added lines to disk.
    func flush() throws {
        try file.append(pending)
        pending = []
    }
}
