import Foundation
import HabitStore

/// What the target has no place for, beside the target: a file with one JSON object a line. Lines are only ever added, each
/// once, and are on the disk before the records are that they belong to.
final class ImportAttachment {
    private let file: AppendedFile
    private var known: Set<String>
    private var pending: [String] = []
    private let encoder: JSONEncoder

    /// Takes up what an earlier import has written; a line that a crash cut off is written anew.
    init(path: String) throws {
        file = AppendedFile(path: path)
        known = Set(try file.lines())
        encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
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
        if known.insert(line).inserted { pending.append(line) }
    }

    /// Brings what was added to the disk.
    func flush() throws {
        try file.append(pending)
        pending = []
    }
}
