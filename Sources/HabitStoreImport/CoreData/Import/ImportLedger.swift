import Foundation
import HabitStore

/// Records what was imported into a store that cannot hold this information itself: an append-only file with one JSON object per line. A
/// crash can cut off the last line, which is then ignored.
///
/// Before a commit the ledger records the identifiers that records will get, and after the commit the digests of their contents. From
/// these, the next import finds what the source has changed since, and leaves the user's own changes alone.
final class ImportLedger {
    /// A record of the source.
    struct Item: Codable, Hashable {
        /// The root entity's name and the record's key.
        let record: String
        let id: UUID
        /// A hash of the imported contents; nil until the commit is certain.
        var digest: String?
    }

    private struct Line: Codable {
        var record: String?
        var id: UUID?
        var digest: String?
        var transaction: Int64?
        var model: String?
        var gone: String?
        var age: SourceAge?
    }

    private let file: AppendedFile
    private(set) var items: [String: Item] = [:]
    private var records: [UUID: Set<String>] = [:]
    /// The last source transaction in the store.
    private(set) var transaction: Int64?
    /// The version of the source's model; nil before the first import.
    private(set) var model: String?
    /// The state of the source's files when the store last equaled them.
    private(set) var age: SourceAge?

    init(path: String) throws {
        file = AppendedFile(path: path)
        let decoder = JSONDecoder()
        try file.forEachLine { text in
            guard let line = try? decoder.decode(Line.self, from: Data(text.utf8)) else { return }
            if let record = line.record, let id = line.id {
                items[record] = Item(record: record, id: id, digest: line.digest ?? items[record]?.digest)
                records[id, default: []].insert(record)
            }
            if let gone = line.gone { items[gone] = nil }
            if let number = line.transaction { transaction = number }
            if let name = line.model { model = name }
            if let found = line.age { age = found }
        }
    }

    static func record(_ root: String, _ key: Int64) -> String { "\(root) \(key)" }

    /// Records the identifiers that records are about to get.
    func announce(_ items: [Item]) throws {
        let new = items.filter { self.items[$0.record]?.id != $0.id }
        try append(new.map { Line(record: $0.record, id: $0.id) })
        for item in new {
            self.items[item.record] = Item(record: item.record, id: item.id)
            records[item.id, default: []].insert(item.record)
        }
    }

    /// The source record of a root entity's family that has an identifier.
    func record(of id: UUID, root: String) -> String? {
        records[id]?.first { $0.hasPrefix(root + " ") && items[$0] != nil }
    }

    /// Records the contents of records, their removal, and the store's position.
    func enter(_ items: [Item], gone: [String], transaction: Int64?, model: String) throws {
        var lines = items.filter { self.items[$0.record] != $0 }.map {
            Line(record: $0.record, id: $0.id, digest: $0.digest)
        }
        lines += gone.map { Line(gone: $0) }
        if transaction != self.transaction || model != self.model {
            lines.append(Line(transaction: transaction, model: model))
        }
        try append(lines)
        for item in items {
            self.items[item.record] = item
            records[item.id, default: []].insert(item.record)
        }
        for record in gone { self.items[record] = nil }
        (self.transaction, self.model) = (transaction, model)
    }

    /// Records the state of the source's files.
    func enter(age: SourceAge) throws {
        guard age != self.age else { return }
        try append([Line(age: age)])
        self.age = age
    }

    private func append(_ lines: [Line]) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try file.append(try lines.map { String(decoding: try encoder.encode($0), as: UTF8.self) })
    }
}
