import Foundation
import HabitStore
import JSONText

/// The contents of an attachment, by their place in the source. An attachment may be as large as the source, so only hashes are kept, in a
/// database on disk.
final class UnmappedValues {
    private let scratch: SourceConnection
    private let hasCell: SourceStatement
    private let rowsLeft: SourceStatement
    private let takeRow: SourceStatement
    private let ofTransaction: SourceStatement
    /// Whether there are any cells, to skip lookups if there are none.
    private var hasCells = false

    /// Reads an attachment; it is empty if there is no file.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if it cannot be read.
    init(path: String) throws {
        scratch = try SourceConnection(scratchFor: path)
        try scratch.exec(
            """
            CREATE TABLE cells (hash INTEGER PRIMARY KEY);
            CREATE TABLE rows (hash INTEGER PRIMARY KEY, count INTEGER);
            CREATE TABLE transactions (number INTEGER PRIMARY KEY, seconds REAL, changes INTEGER);
            BEGIN
            """
        )
        hasCell = try scratch.prepare("SELECT 1 FROM cells WHERE hash = ?1")
        rowsLeft = try scratch.prepare("SELECT count FROM rows WHERE hash = ?1")
        takeRow = try scratch.prepare("UPDATE rows SET count = count - 1 WHERE hash = ?1 AND count > 0 RETURNING 1")
        ofTransaction = try scratch.prepare("SELECT seconds, changes FROM transactions WHERE number = ?1")
        guard FileManager.default.fileExists(atPath: path) else { return }
        let lines = try AttachmentLines(scratch)
        try WitnessLines.read(path) { line in
            // Foundation's decoder does not guarantee exact numbers.
            guard let object = (try? JSON(parsing: Array(line)))?.members else { return }
            try lines.add(object)
        }
        hasCells = try scratch.int("SELECT 1 FROM cells LIMIT 1") != nil
    }

    /// Whether the attachment has a cell in one of its forms.
    func has(_ table: String, _ key: Int64, _ column: String, _ forms: @autoclosure () -> [String]) throws -> Bool {
        guard hasCells else { return false }
        return try forms().contains { try isCell(UnmappedHash.cell(table, key, column, $0)) }
    }

    /// Whether the attachment has a text with exactly the same scalars, needed for characters that stores replace.
    func hasExactly(_ text: String, _ table: String, _ key: Int64, _ column: String) throws -> Bool {
        try hasCells && isCell(UnmappedHash.exactly(text, table, key, column))
    }

    /// Whether the attachment has a whole record.
    func hasRecord(_ table: String, _ key: Int64) throws -> Bool {
        try hasCells && isCell(UnmappedHash.record(table, key))
    }

    private func isCell(_ hash: Int64) throws -> Bool {
        try hasCell.has(.int(hash))
    }

    /// Whether the attachment has a row without a key. Each line accounts for one row.
    func take(_ table: String, _ row: [String: String]) throws -> Bool {
        try takeRow.has(.int(UnmappedHash.row(table, row)))
    }

    /// Whether the attachment had a row without a key, even if other rows have used up its lines.
    func hadRow(_ table: String, _ row: [String: String]) throws -> Bool {
        try rowsLeft.has(.int(UnmappedHash.row(table, row)))
    }

    /// The time and the number of changes of a transaction in the attachment; nil if it is not there.
    func transaction(_ number: Int64) throws -> (seconds: Double?, changes: Int)? {
        guard try ofTransaction.find(.int(number)) else { return nil }
        return (ofTransaction.optionalDouble(0), Int(ofTransaction.optionalInt(1) ?? 0))
    }
}

private final class AttachmentLines {
    private let addCell: SourceStatement
    private let addRow: SourceStatement
    private let addTransaction: SourceStatement

    init(_ scratch: SourceConnection) throws {
        addCell = try scratch.prepare("INSERT OR IGNORE INTO cells VALUES (?1)")
        addRow = try scratch.prepare("INSERT INTO rows VALUES (?1, 1) ON CONFLICT DO UPDATE SET count = count + 1")
        addTransaction = try scratch.prepare("INSERT OR REPLACE INTO transactions VALUES (?1, ?2, ?3)")
    }

    func add(_ object: [String: JSON]) throws {
        if let number = object["transaction"]?.integer {
            // NaN, for a transaction without a time, equals no time.
            let seconds = object["secondsSince2001"]?.number ?? .nan
            let changes = Int64(object["changes"]?.elements?.count ?? 0)
            try addTransaction.run(.int(Int64(number)), .real(seconds), .int(changes))
        }
        guard let table = object["table"]?.text else { return }
        let key = object["key"]?.integer.map { Int64($0) }
        if let column = object["column"]?.text, let key, let value = object["value"].flatMap(WitnessCell.words(json:)) {
            try add(cell: UnmappedHash.cell(table, key, column, value))
            try add(exactly: object["value"], table, key, column)
        }
        guard let columns = object["columns"]?.members else { return }
        if let key { try add(cell: UnmappedHash.record(table, key)) }
        if let values = object["values"]?.members, let key {
            // A whole record: its values are listed under their properties' names.
            let all = values.merging(object["references"]?.members ?? [:]) { first, _ in first }
            for (name, value) in all {
                guard let column = columns[name]?.text, let words = WitnessCell.words(json: value) else { continue }
                try add(cell: UnmappedHash.cell(table, key, column, words))
                try add(exactly: value, table, key, column)
            }
            return
        }
        let words = columns.compactMapValues(WitnessCell.words(json:))
        try addRow.run(.int(UnmappedHash.row(table, words)))
        guard let key else { return }
        for (column, value) in words { try add(cell: UnmappedHash.cell(table, key, column, value)) }
        for (column, value) in columns { try add(exactly: value, table, key, column) }
    }

    private func add(exactly value: JSON?, _ table: String, _ key: Int64, _ column: String) throws {
        guard let text = value?.text, WitnessCell.hasReplacedCharacters(text) else { return }
        try add(cell: UnmappedHash.exactly(text, table, key, column))
    }

    private func add(cell hash: Int64) throws {
        try addCell.run(.int(hash))
    }
}

/// Hashes of cells, records and rows, different in each process.
private enum UnmappedHash {
    static func cell(_ table: String, _ key: Int64, _ column: String, _ words: String) -> Int64 {
        var hasher = Hasher()
        hasher.combine(table)
        hasher.combine(key)
        hasher.combine(column)
        hasher.combine(words)
        return Int64(hasher.finalize())
    }

    /// Texts that Swift considers equal may differ in their scalars.
    static func exactly(_ text: String, _ table: String, _ key: Int64, _ column: String) -> Int64 {
        var hasher = Hasher()
        hasher.combine(cell(table, key, column, ""))
        hasher.combine(Data(text.utf8))
        return Int64(hasher.finalize())
    }

    /// Uses the empty column name, which no column has.
    static func record(_ table: String, _ key: Int64) -> Int64 { cell(table, key, "", "") }

    static func row(_ table: String, _ row: [String: String]) -> Int64 {
        var hasher = Hasher()
        hasher.combine(table)
        hasher.combine(row)
        return Int64(hasher.finalize())
    }
}

/// Reads a file line by line.
package enum WitnessLines {
    package static func read(_ path: String, _ body: (Data) throws -> Void) throws {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw HabitStoreError(.inputOutput, "the file cannot be read", at: .init(path: path))
        }
        defer { try? file.close() }
        var rest = Data()
        while let chunk = try file.read(upToCount: 1 << 20), !chunk.isEmpty {
            rest.append(chunk)
            var start = rest.startIndex
            while let end = rest[start...].firstIndex(of: 0x0a) {
                try body(Data(rest[start..<end]))
                start = rest.index(after: end)
            }
            rest = Data(rest[start...])
        }
        if !rest.isEmpty { try body(rest) }
    }
}
