import Foundation
import HabitStore

/// What an attachment has, by where in the source it was: read line by line, of which nothing but hashes is remembered.
struct KeptValues {
    private var cells: Set<Int> = []
    private var rows: [Int: Int] = [:]
    private var records: Set<Int> = []
    /// How many changes the transactions have that are kept, and when they were.
    private(set) var transactions: [Int64: (seconds: Double, changes: Int)] = [:]

    /// Nothing is kept.
    init() {}

    /// Reads an attachment; nothing when there is none.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` when it cannot be read.
    init(path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        try WitnessLines.read(path) { line in
            // Numbers have to come out to the bit, which Foundation's own reader does not promise.
            guard let object = (try? JSONValueParser.parse(Array(line)))?.members else { return }
            add(object)
        }
    }

    private mutating func add(_ object: [String: ImportJSON]) {
        if let number = object["transaction"]?.integer {
            let seconds = object["secondsSince2001"]?.number ?? .nan
            transactions[Int64(number)] = (seconds, object["changes"]?.elements?.count ?? 0)
        }
        guard let table = object["table"]?.text else { return }
        let key = object["key"]?.integer.map { Int64($0) }
        if let column = object["column"]?.text, let key, let value = object["value"].flatMap(WitnessCell.words(json:)) {
            cells.insert(Self.hash(table, key, column, value))
        }
        guard let columns = object["columns"]?.members else { return }
        if let key { records.insert(Self.hash(table, key, "", "")) }
        if let values = object["values"]?.members, let key {
            // A record that was kept whole: its values stand under their properties' names.
            let all = values.merging(object["references"]?.members ?? [:]) { first, _ in first }
            for (name, value) in all {
                guard let column = columns[name]?.text, let words = WitnessCell.words(json: value) else { continue }
                cells.insert(Self.hash(table, key, column, words))
            }
            return
        }
        let words = columns.compactMapValues(WitnessCell.words(json:))
        rows[Self.hash(table, words), default: 0] += 1
        if let key { for (column, value) in words { cells.insert(Self.hash(table, key, column, value)) } }
    }

    /// Whether a cell is kept, in one of its forms.
    func has(_ table: String, _ key: Int64, _ column: String, _ forms: @autoclosure () -> [String]) -> Bool {
        !cells.isEmpty && forms().contains { cells.contains(Self.hash(table, key, column, $0)) }
    }

    /// Whether a record is kept whole.
    func hasRecord(_ table: String, _ key: Int64) -> Bool { records.contains(Self.hash(table, key, "", "")) }

    /// Whether a row without a key is kept; each line stands for one.
    mutating func take(_ table: String, _ row: [String: String]) -> Bool {
        let hash = Self.hash(table, row)
        guard let left = rows[hash], left > 0 else { return false }
        rows[hash] = left - 1
        return true
    }

    /// Whether a row without a key is kept, whoever was counted for it.
    func hadRow(_ table: String, _ row: [String: String]) -> Bool { rows[Self.hash(table, row)] != nil }

    private static func hash(_ table: String, _ key: Int64, _ column: String, _ words: String) -> Int {
        var hasher = Hasher()
        hasher.combine(table)
        hasher.combine(key)
        hasher.combine(column)
        hasher.combine(words)
        return hasher.finalize()
    }

    private static func hash(_ table: String, _ row: [String: String]) -> Int {
        var hasher = Hasher()
        hasher.combine(table)
        hasher.combine(row)
        return hasher.finalize()
    }
}

/// The lines of a file, one after the other.
enum WitnessLines {
    static func read(_ path: String, _ body: (Data) throws -> Void) throws {
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
