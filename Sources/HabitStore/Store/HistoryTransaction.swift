import Foundation

/// One write transaction, as the history remembers it.
public struct HistoryTransaction: Sendable, Hashable, Codable {
    /// Its number.
    public let token: HistoryToken
    /// When it was committed, by the clock of the machine that wrote it.
    public let timestamp: Date
    /// Who wrote it, as given to `write(author:)`.
    public let author: String?
    /// Its net changes, in the order in which the records were first touched.
    public let changes: [HistoryChange]

    /// Makes a transaction.
    public init(token: HistoryToken, timestamp: Date, author: String?, changes: [HistoryChange]) {
        self.token = token
        self.timestamp = timestamp
        self.author = author
        self.changes = changes
    }
}

/// One record's net change within a transaction.
public struct HistoryChange: Sendable, Hashable, Codable {
    /// What happened to the record.
    public enum Kind: Sendable, Hashable, Codable {
        /// It was not there before.
        case insert
        /// The named attributes have other values than before.
        case update(updatedAttributes: [String])
        /// It is gone; the values of its attributes that are preserved on deletion.
        case delete(tombstone: [String: Value])
    }

    /// The entity's name.
    public let entity: String
    /// The record.
    public let id: UUID
    /// What happened to it.
    public let kind: Kind

    /// Makes a change.
    public init(entity: String, id: UUID, kind: Kind) {
        self.entity = entity
        self.id = id
        self.kind = kind
    }
}

/// A point in a store's history. Tokens count up from 1 without a gap; two stores of one user with the same token hold
/// the same records.
public struct HistoryToken: RawRepresentable, Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The number of the last transaction that is included; 0 before the first.
    public let rawValue: Int64

    /// The token of a transaction's number.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Before the first transaction.
    public static let zero = HistoryToken(rawValue: 0)

    /// Earlier tokens first.
    public static func < (left: HistoryToken, right: HistoryToken) -> Bool { left.rawValue < right.rawValue }

    /// The number.
    public var description: String { String(rawValue) }

    /// The greatest token that a file may contain: about 140 trillion, more than any store reaches. The control file has no room for more.
    package static let greatest = HistoryToken(rawValue: 1 << 47)

    /// The token of the next transaction.
    var next: HistoryToken { HistoryToken(rawValue: rawValue < .max ? rawValue + 1 : rawValue) }
}

/// The net changes of a write transaction to each record, for its history transaction.
struct TransactionChanges {
    /// The change of one record.
    enum Touch {
        case inserted
        case updated(original: EncodedRecord, attributes: [Int])
        case deleted(original: EncodedRecord)
        /// Inserted and deleted again, or brought back to what it was.
        case untouched
    }

    /// The records in the order in which they were first touched.
    private(set) var order: [RecordKey] = []
    /// Empty as long as all of them were inserted and nothing else: no record can be inserted twice, so that nothing has to
    /// be looked up in a load.
    private var touches: [RecordKey: Touch] = [:]
    private var areInsertionsOnly = true

    /// The change of a record of ``order``.
    subscript(key: RecordKey) -> Touch? { areInsertionsOnly ? .inserted : touches[key] }

    mutating func noteInsertion(_ key: RecordKey, _ record: RecordView, _ layout: RecordLayout) {
        guard !areInsertionsOnly else { return order.append(key) }
        switch touches[key] {
        case nil:
            order.append(key)
            touches[key] = .inserted
        case .deleted(let original):
            let changed = Self.changedAttributes(record, original, layout)
            touches[key] = changed.isEmpty ? .untouched : .updated(original: original, attributes: changed)
        case .untouched, .inserted, .updated: touches[key] = .inserted
        }
    }

    /// Notes the insertion of all records of a batch, in their order.
    mutating func noteInsertions(_ entity: Int, _ batch: RecordBatch, _ layout: RecordLayout) {
        for place in 0..<batch.count {
            noteInsertion(RecordKey(entity: entity, id: batch.identifier(at: place)), batch[place], layout)
        }
    }

    mutating func noteUpdate(_ key: RecordKey, _ record: RecordView, _ old: EncodedRecord, _ layout: RecordLayout) {
        beginLookingUp()
        let original: EncodedRecord
        switch touches[key] {
        case .inserted: return
        case .updated(let first, _): original = first
        case nil:
            order.append(key)
            original = old
        case .untouched, .deleted: original = old
        }
        let changed = Self.changedAttributes(record, original, layout)
        touches[key] = changed.isEmpty ? .untouched : .updated(original: original, attributes: changed)
    }

    mutating func noteDeletion(_ key: RecordKey, _ old: EncodedRecord) {
        beginLookingUp()
        switch touches[key] {
        case .inserted: touches[key] = .untouched
        case .updated(let original, _), .deleted(let original): touches[key] = .deleted(original: original)
        case .untouched: touches[key] = .deleted(original: old)
        case nil:
            order.append(key)
            touches[key] = .deleted(original: old)
        }
    }

    private mutating func beginLookingUp() {
        guard areInsertionsOnly else { return }
        areInsertionsOnly = false
        touches.reserveCapacity(order.count + 1)
        for key in order { touches[key] = .inserted }
    }

    private static func changedAttributes(
        _ record: RecordView,
        _ original: EncodedRecord,
        _ layout: RecordLayout
    ) -> [Int] {
        original.withView(layout) { old in
            layout.kinds.indices.filter { position in
                old.isNull(at: position) != record.isNull(at: position)
                    || !((try? old.rawBytes(at: position).elementsEqual(record.rawBytes(at: position))) ?? false)
            }
        }
    }

    // MARK: History

    /// What there is to say in the history.
    func history(_ schema: Schema) throws -> [HistoryChange] {
        let names = schema.entities.map(\.name)
        var changes: [HistoryChange] = []
        changes.reserveCapacity(order.count)
        for key in order {
            guard let kind = try kind(key, schema) else { continue }
            changes.append(HistoryChange(entity: names[key.entity], id: key.id, kind: kind))
        }
        return changes
    }

    private func kind(_ key: RecordKey, _ schema: Schema) throws -> HistoryChange.Kind? {
        switch self[key] {
        case nil, .untouched: return nil
        case .inserted: return .insert
        case .updated(_, let attributes):
            let entity = schema.entities[key.entity]
            return .update(updatedAttributes: attributes.map { entity.attributes[$0].name })
        case .deleted(let original):
            let entity = schema.entities[key.entity]
            var tombstone: [String: Value] = [:]
            try original.withView(entity.layout) { view in
                for (position, attribute) in entity.attributes.enumerated()
                where attribute.preservesValueOnDeletion && position > 0 {
                    tombstone[attribute.name] = try view.value(at: position)
                }
            }
            return .delete(tombstone: tombstone)
        }
    }
}
