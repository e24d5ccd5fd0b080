import DurableFiles
import Foundation
import HabitStore
import Hashing
import JSONText

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

/// A whole record in the attachment, for which the target has no entity.
struct ImportedRow: Encodable {
    let entity: String
    let key: Int64
    let id: UUID
    let reason: String
    let values: [String: JSON]
    let references: [String: Int64]
    /// The table, and the columns of the values above by property name.
    let table: String
    let columns: [String: String]

    init(_ row: CoreDataRow, of entity: CoreDataEntity, id: UUID, reason: String) {
        self.entity = entity.name
        key = row.key
        self.id = id
        self.reason = reason
        var values: [String: JSON] = [:]
        for (attribute, value) in zip(entity.attributes, row.values) where !value.value.isNull || value.stored != nil {
            values[attribute.name] = value.stored.map { JSON(stored: $0) } ?? JSON(stored: value.value)
        }
        references = row.references.mapValues(\.key)
        table = entity.table
        let names = Array(values.keys) + Array(row.references.keys)
        var columns = Dictionary(
            names.compactMap { name in entity.column(of: name).map { (name, $0) } },
            uniquingKeysWith: { first, _ in first }
        )
        for found in row.misplaced {
            values[found.column] = JSON(stored: found.value)
            columns[found.column] = found.column
        }
        self.values = values
        self.columns = columns
    }
}

/// A source transaction in the attachment, for a store with its own history.
struct ImportedTransaction: Encodable {
    struct Change: Encodable {
        let entity: String
        let key: Int64
        let kind: String
        let tombstone: [String: JSON]?
    }

    let transaction: Int64
    let secondsSince2001: Double
    let author: String?
    let context: String?
    let process: String?
    let bundle: String?
    let changes: [Change]

    init(_ source: CoreDataTransaction, _ changes: [CoreDataChange], _ model: CoreDataModel) {
        transaction = source.number
        secondsSince2001 = source.timestamp.timeIntervalSinceReferenceDate
        author = source.author
        context = source.context
        process = source.process
        bundle = source.bundle
        self.changes = changes.map { change in
            let values = change.tombstone.map { ($0.column, JSON(stored: $0.value)) }
            return Change(
                entity: model.entity(number: change.entity)?.name ?? "\(change.entity)",
                key: change.key,
                kind: "\(change.kind)",
                tombstone: values.isEmpty ? nil : Dictionary(values, uniquingKeysWith: { first, _ in first })
            )
        }
    }
}

/// The paths of the files that an import writes next to a store.
struct ImportNotes {
    /// The path of the store, or a substitute for it.
    let base: String

    /// Values that the store cannot hold.
    var attachment: String { base + ".unmapped.jsonl" }
    /// The mapping from source records to store records.
    var ledger: String { base + ".ledger.jsonl" }
    /// A list of what is neither in the store nor in the attachment.
    var statement: String { base + ".import.json" }
    /// The keys that identifiers were derived from.
    var keys: String { base + ".keys.jsonl" }
}

/// An append-only file of lines; appended lines are on disk when the call returns.
struct AppendedFile {
    let path: String

    /// Calls `body` with each line; with none if there is no file.
    func forEachLine(_ body: (String) throws -> Void) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        var rest: [UInt8] = []
        try FileFailure.mappingErrors {
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
        try FileFailure.mappingErrors {
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
