import Foundation
@_spi(Engines) import HabitStore

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

/// A target's source (the file and the version of the app's model) and the last imported transaction. It is a record of the target, so that it
/// changes in the same transaction as the data.
struct SourcePosition: Hashable {
    /// The source's identity.
    let storeID: String
    /// A hash over the hashes of the app's model.
    var model: String
    /// The identity attributes, by root entity.
    var identities: [String: String]
    /// The last source transaction in the target; nil if the source has no history.
    var transaction: Int64?
    /// Identifies the state of the source that the target last equaled, to detect earlier states; nil in targets of earlier versions.
    var age: SourceAge?

    /// The identifier of the record, one per source.
    var id: UUID { IdentityRule.derived(storeID: storeID, root: DerivedSchema.sourceEntity, key: 0) }

    init(
        storeID: String,
        model: String,
        identities: [String: String],
        transaction: Int64?,
        age: SourceAge? = nil
    ) {
        (self.storeID, self.model, self.identities) = (storeID, model, identities)
        (self.transaction, self.age) = (transaction, age)
    }

    /// The current position of a file.
    init(_ file: CoreDataFile, identities: [String: String]) {
        self.init(
            storeID: file.metadata.storeID,
            model: file.modelHash,
            identities: identities,
            transaction: file.history?.last,
            age: file.age
        )
    }

    /// Decodes the values of the target's record.
    init(_ values: [Value]) throws {
        guard [5, 6].contains(values.count), case .string(let storeID) = values[1], case .string(let model) = values[2],
            case .string(let text) = values[3],
            let identities = try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))
        else {
            throw HabitStoreError(.corrupt, "the store's position in its source cannot be read")
        }
        self.storeID = storeID
        self.model = model
        self.identities = identities
        transaction = if case .int(let number) = values[4] { number } else { nil }
        if values.count == 6, case .string(let text) = values[5] {
            age = try? JSONDecoder().decode(SourceAge.self, from: Data(text.utf8))
        }
    }

    /// The record; targets of earlier versions have no attribute for the age.
    func record(_ layout: RecordLayout) throws -> EncodedRecord {
        var values: [Value] = [
            .uuid(id), .string(storeID), .string(model), .string(try Self.json(identities)),
            transaction.map { .int($0) } ?? .null,
        ]
        if layout.kinds.count == 6 { values.append(try age.map { .string(try Self.json($0)) } ?? .null) }
        return try EncodedRecord(values, layout: layout)
    }

    private static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
