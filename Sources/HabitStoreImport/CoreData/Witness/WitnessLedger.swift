import Foundation
import HabitStore

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
            guard let object = (try? JSONValueParser.parse(Array(line)))?.members else { return }
            if let record = object["record"]?.text, let id = object["id"]?.text.flatMap({ UUID(uuidString: $0) }) {
                let (first, second) = id.halves
                try addRecord.bind(record, at: 1)
                try addRecord.bind(first, at: 2)
                try addRecord.bind(second, at: 3)
                try addRecord.run()
                if let key = record.split(separator: " ").last.flatMap({ Int64($0) }) {
                    try addKey.bind(first, at: 1)
                    try addKey.bind(second, at: 2)
                    try addKey.bind(key, at: 3)
                    try addKey.run()
                }
            }
            if let gone = object["gone"]?.text {
                try remove.bind(gone, at: 1)
                try remove.run()
            }
            if let number = object["transaction"]?.integer {
                try addTransaction.bind(Int64(number), at: 1)
                try addTransaction.run()
            }
        }
    }

    /// The store's identifier of a source record, given as the root entity's name and a key.
    func id(of record: String) throws -> UUID? {
        defer { idOfRecord.reset() }
        try idOfRecord.bind(record, at: 1)
        guard try idOfRecord.step(), let first = idOfRecord.optionalInt(0), let second = idOfRecord.optionalInt(1)
        else {
            return nil
        }
        return UUID(halves: (first, second))
    }

    /// Whether a record with a key has an identifier.
    func has(_ id: UUID, key: Int64) throws -> Bool {
        defer { hasKey.reset() }
        try hasKey.bind(id.halves.0, at: 1)
        try hasKey.bind(id.halves.1, at: 2)
        try hasKey.bind(key, at: 3)
        return try hasKey.step()
    }

    /// The keys of the records with an identifier.
    func keys(of id: UUID) throws -> [Int64] {
        defer { keysOfID.reset() }
        try keysOfID.bind(id.halves.0, at: 1)
        try keysOfID.bind(id.halves.1, at: 2)
        var keys: [Int64] = []
        while try keysOfID.step() { keys.append(keysOfID.optionalInt(0) ?? 0) }
        return keys
    }

    /// Whether a source transaction was followed.
    func followed(_ transaction: Int64) throws -> Bool {
        defer { hasTransaction.reset() }
        try hasTransaction.bind(transaction, at: 1)
        return try hasTransaction.step()
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
