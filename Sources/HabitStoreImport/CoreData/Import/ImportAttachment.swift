import Foundation
import HabitStore
import Hashing

/// What the target has no place for, beside the target: a file with one JSON object a line. Lines are only ever added, each
/// once, and are on the disk before the records are that they belong to.
final class ImportAttachment {
    private let file: AppendedFile
    /// The lines there are: the first half of SHA-256 of each, since there can be more of them than there is memory.
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

    /// Takes up what an earlier import has written; a line that a crash cut off is written anew.
    init(path: String) throws {
        file = AppendedFile(path: path)
        encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try file.forEachLine { known.insert(Line($0)) }
    }

    /// The file.
    var path: String { file.path }

    /// Whether there is anything in it.
    var isEmpty: Bool { known.isEmpty && pending.isEmpty }

    /// Adds lines; they are written by ``flush()``.
    func add(_ losses: [ImportLoss]) throws {
        for loss in losses { try add(loss) }
    }

    /// Adds a line.
    func add(_ item: some Encodable) throws {
        let line = String(decoding: try encoder.encode(item), as: UTF8.self)
        guard known.insert(Line(line)).inserted else { return }
        pending.append(line)
        if pending.count >= Self.mostPending { try flush() }
    }

    /// Brings what was added to the disk.
    func flush() throws {
        try file.append(pending)
        pending = []
    }
}
