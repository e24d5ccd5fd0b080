import Foundation
@_spi(Engines) import HabitStore
import Hashing
import JSONText

/// The identifiers of a file's records, looked up one at a time. If several records have the same UUID, the lowest key keeps it.
final class WitnessIdentifiers {
    private let file: CoreDataFile
    private var lookups: [String: SourceStatement] = [:]
    /// For each UUID that several records have, the key that keeps it.
    private var keepers: [String: [UUID: Int64]] = [:]
    private var known: [String: [Int64: UUID]] = [:]

    private static let mostKnown = 50_000

    init(_ file: CoreDataFile, _ identities: [String: String]) throws {
        self.file = file
        for (root, attribute) in identities {
            guard let entity = file.model.entity(root), let column = entity.attribute(attribute)?.column else {
                continue
            }
            let own = "CASE typeof(\"\(column)\") WHEN 'blob' THEN hex(\"\(column)\") ELSE \"\(column)\" END"
            lookups[root] = try file.connection.prepare("SELECT \(own) FROM \"\(entity.table)\" WHERE Z_PK = ?1")
            let repeated = try file.connection.prepare(
                "SELECT \(own), min(Z_PK) FROM \"\(entity.table)\" GROUP BY 1 HAVING count(*) > 1"
            )
            while try repeated.step() {
                guard let id = repeated.text(0).flatMap(Self.identifier), let key = repeated.optionalInt(1) else {
                    continue
                }
                keepers[root, default: [:]][id] = key
            }
        }
    }

    /// The identifier for a key, whether or not it has a record.
    func identifier(_ root: String, _ key: Int64) throws -> UUID {
        if let id = known[root]?[key] { return id }
        let id = try own(root, key) ?? Self.derived(file, root, key)
        if known[root, default: [:]].count >= Self.mostKnown { known[root] = [:] }
        known[root, default: [:]][key] = id
        return id
    }

    private func own(_ root: String, _ key: Int64) throws -> UUID? {
        guard let lookup = lookups[root] else { return nil }
        guard try lookup.find(.int(key)), let id = lookup.text(0).flatMap(Self.identifier) else { return nil }
        if let keeper = keepers[root]?[id], keeper != key { return nil }
        return id
    }

    /// A UUID from 32 uppercase hexadecimal digits, with or without dashes.
    private static func identifier(_ text: String) -> UUID? {
        var digits = text
        if digits.utf8.count == 36 {
            guard digits == digits.uppercased() else { return nil }
        } else {
            guard digits.utf8.count == 32 else { return nil }
            for place in [20, 16, 12, 8] { digits.insert("-", at: digits.index(digits.startIndex, offsetBy: place)) }
        }
        return UUID(uuidString: digits)
    }

    /// The derived identifier of a record, following the documentation.
    static func derived(_ file: CoreDataFile, _ root: String, _ key: Int64) -> UUID {
        let text = "habitstore coredata\0\(file.metadata.storeID.uppercased())\0\(root)\0\(key)\0"
        var digits = SHA256.hash(data: Data(text.utf8)).prefix(16).map { $0 }
        digits[6] = 0x80 | (digits[6] & 0b1111)
        digits[8] = 0x80 | (digits[8] & 0b11_1111)
        return NSUUID(uuidBytes: digits) as UUID
    }
}

/// The mapping from source records to store records that a mapped import wrote. It is on disk, because it has as many entries as the source
/// has records.
final class WitnessLedger {
    private let scratch: SourceConnection
    private let idOfRecord: SourceStatement
    private let hasKey: SourceStatement
    private let keysOfID: SourceStatement
    private let hasTransaction: SourceStatement

    init(path: String) throws {
        scratch = try SourceConnection(scratchFor: path)
        try scratch.exec(
            """
            CREATE TABLE ids (record TEXT PRIMARY KEY, first INTEGER, second INTEGER) WITHOUT ROWID;
            CREATE TABLE keys (first INTEGER, second INTEGER, key INTEGER, PRIMARY KEY (first, second, key)) WITHOUT ROWID;
            CREATE TABLE transactions (number INTEGER PRIMARY KEY);
            BEGIN
            """
        )
        idOfRecord = try scratch.prepare("SELECT first, second FROM ids WHERE record = ?1")
        hasKey = try scratch.prepare("SELECT 1 FROM keys WHERE first = ?1 AND second = ?2 AND key = ?3")
        keysOfID = try scratch.prepare("SELECT key FROM keys WHERE first = ?1 AND second = ?2")
        hasTransaction = try scratch.prepare("SELECT 1 FROM transactions WHERE number = ?1")
        guard FileManager.default.fileExists(atPath: path) else { return }
        try read(path)
    }

    private func read(_ path: String) throws {
        let addRecord = try scratch.prepare("INSERT OR REPLACE INTO ids VALUES (?1, ?2, ?3)")
        let addKey = try scratch.prepare("INSERT OR IGNORE INTO keys VALUES (?1, ?2, ?3)")
        let remove = try scratch.prepare("DELETE FROM ids WHERE record = ?1")
        let addTransaction = try scratch.prepare("INSERT OR IGNORE INTO transactions VALUES (?1)")
        try WitnessLines.read(path) { line in
            guard let object = (try? JSON(parsing: Array(line)))?.members else { return }
            if let record = object["record"]?.text, let id = object["id"]?.text.flatMap({ UUID(uuidString: $0) }) {
                let (first, second) = id.halves
                try addRecord.run(.text(record), .int(first), .int(second))
                if let key = record.split(separator: " ").last.flatMap({ Int64($0) }) {
                    try addKey.run(.int(first), .int(second), .int(key))
                }
            }
            if let gone = object["gone"]?.text { try remove.run(.text(gone)) }
            if let number = object["transaction"]?.integer { try addTransaction.run(.int(Int64(number))) }
        }
    }

    /// The store's identifier of a source record, given as the root entity's name and a key.
    func id(of record: String) throws -> UUID? {
        guard try idOfRecord.find(.text(record)), let first = idOfRecord.optionalInt(0),
            let second = idOfRecord.optionalInt(1)
        else { return nil }
        return UUID(halves: (first, second))
    }

    /// Whether a record with a key has an identifier.
    func has(_ id: UUID, key: Int64) throws -> Bool {
        try hasKey.has(.int(id.halves.0), .int(id.halves.1), .int(key))
    }

    /// The keys of the records with an identifier.
    func keys(of id: UUID) throws -> [Int64] {
        try keysOfID.bind([.int(id.halves.0), .int(id.halves.1)])
        var keys: [Int64] = []
        while try keysOfID.step() { keys.append(keysOfID.optionalInt(0) ?? 0) }
        return keys
    }

    /// Whether a source transaction was followed.
    func followed(_ transaction: Int64) throws -> Bool {
        try hasTransaction.has(.int(transaction))
    }
}

extension UUID {
    fileprivate var halves: (Int64, Int64) {
        withUnsafeBytes(of: uuid) { bytes in
            (bytes.loadUnaligned(as: Int64.self), bytes.loadUnaligned(fromByteOffset: 8, as: Int64.self))
        }
    }

    fileprivate init(halves: (Int64, Int64)) {
        self.init(uuid: withUnsafeBytes(of: halves) { $0.loadUnaligned(as: uuid_t.self) })
    }
}

/// The records that a mapped import refused, and the references to them.
struct WitnessRefusals {
    private let kept: UnmappedValues
    private let target: any ReplicableStore

    private static let chunk = 2_000

    init(_ kept: UnmappedValues, _ target: any ReplicableStore) {
        (self.kept, self.target) = (kept, target)
    }

    /// Whether the target lacks a record that the attachment has whole.
    func has(_ table: String, _ key: Int64, _ id: UUID, _ entity: Int) throws -> Bool {
        guard try kept.hasRecord(table, key) else { return false }
        return try target.replicaRead { try $0.record(entity: entity, id: id) } == nil
    }

    /// Removes dangling references, and records that require them, since a store of Swift types has neither.
    func removeDanglingReferences(_ store: any ReplicableStore) throws {
        var isRecovered = false
        while !isRecovered {
            isRecovered = true
            for entity in store.schema.entities.indices where try !removeDanglingReferences(of: entity, store) {
                isRecovered = false
            }
        }
    }

    /// - Returns: whether no record was removed, so that no further reference can dangle.
    private func removeDanglingReferences(of entity: Int, _ store: any ReplicableStore) throws -> Bool {
        let layout = store.schema.entities[entity].layout
        var allStayed = true
        var last: UUID?
        var isAtEnd = false
        while !isAtEnd {
            var changes: [(id: UUID, record: EncodedRecord?)] = []
            try store.replicaRead { replica in
                isAtEnd = true
                try replica.enumerate(entity: entity, after: last) { id, record in
                    last = id
                    let before = try record.values(layout)
                    let values = try withoutDangling(before, entity, store.schema, replica)
                    let record = try values.map { try EncodedRecord($0, layout: layout) }
                    if values != before { changes.append((id, record)) }
                    isAtEnd = changes.count < Self.chunk
                    return isAtEnd
                }
            }
            try store.replicate { transaction in
                for change in changes {
                    if let record = change.record {
                        try transaction.put(entity: entity, id: change.id, record)
                    } else {
                        try transaction.remove(entity: entity, id: change.id)
                        allStayed = false
                    }
                }
            }
        }
        return allStayed
    }

    /// A record's values without dangling references; nil if it requires one.
    private func withoutDangling(
        _ values: [Value],
        _ entity: Int,
        _ schema: Schema,
        _ replica: any ReplicaSnapshot
    ) throws -> [Value]? {
        var values = values
        for relationship in schema.relationships[entity] where relationship.isStored {
            func leads(_ id: UUID) throws -> Bool {
                try replica.record(entity: relationship.destination, id: id) != nil
            }
            switch values[relationship.attribute] {
            case .uuid(let id):
                if try leads(id) { continue }
                guard schema.entities[entity].attributes[relationship.attribute].isOptional else { return nil }
                values[relationship.attribute] = .null
            case .links(let ids): values[relationship.attribute] = .links(try ids.filter(leads))
            default: continue
            }
        }
        return values
    }
}
