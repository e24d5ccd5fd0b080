@_spi(Engines) import HabitStore

/// A row that every commit replaces, so that a database file and a log tell whether they belong together.
///
/// The file holds the mark of its last checkpointed commit, and the log those of the commits since its beginning, the first of
/// which names its predecessor. SQLite's own log has nothing that names the file that it was written for.
struct SQLiteLogMark: Equatable, Sendable {
    /// The key of the row among the store's metadata.
    static let key = "logMark"
    private static let fieldLength = 16
    private static let separator = UInt8(ascii: "-")
    private static let textLength = fieldLength * 5 + 4

    /// How many commits were marked so far, this one included.
    let number: UInt64
    /// A random number, which tells this commit from any other of the same number.
    let id: UInt64
    /// The ``id`` of the marked commit before; 0 for the first one.
    let previous: UInt64
    /// The schema cookie with this commit. A file that was rebuilt (`VACUUM INTO`) has the marks of the original and a higher
    /// cookie, and its pages have other numbers.
    let schemaCookie: UInt64

    /// The mark of the commit after `mark`; of the first one after nil.
    init(after mark: SQLiteLogMark?, schemaCookie: Int64) {
        number = (mark?.number ?? 0) &+ 1
        id = UInt64.random(in: 1...UInt64.max)
        previous = mark?.id ?? 0
        self.schemaCookie = UInt64(UInt32(truncatingIfNeeded: schemaCookie))
    }

    /// Reads what ``text`` gives. Nil for anything else: a page that a power cut has torn may hold parts of two marks.
    init?(_ text: UnsafeRawBufferPointer) {
        guard text.count == Self.textLength, let number = Self.number(text, 0), let id = Self.number(text, 1),
            let previous = Self.number(text, 2), let cookie = Self.number(text, 3), let sum = Self.number(text, 4)
        else { return nil }
        (self.number, self.id, self.previous, schemaCookie) = (number, id, previous, cookie)
        guard sum == checksum else { return nil }
    }

    /// Five numbers of 16 hexadecimal digits, the last of which is a checksum; always of one length, so that SQLite writes over
    /// the row in its place.
    var text: String {
        String(unsafeUninitializedCapacity: Self.textLength) { bytes in
            for (field, number) in [number, id, previous, schemaCookie, checksum].enumerated() {
                let start = field * (Self.fieldLength + 1)
                if field > 0 { bytes[start - 1] = Self.separator }
                for digit in 0..<Self.fieldLength {
                    let value = UInt8(truncatingIfNeeded: number >> (60 - 4 * UInt64(digit))) & 0xF
                    bytes[start + digit] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
                }
            }
            return Self.textLength
        }
    }

    private var checksum: UInt64 {
        let numbers = (number.littleEndian, id.littleEndian, previous.littleEndian, schemaCookie.littleEndian)
        return withUnsafeBytes(of: numbers) { XXHash3.hash($0) }
    }

    private static func number(_ text: UnsafeRawBufferPointer, _ field: Int) -> UInt64? {
        let start = field * (fieldLength + 1)
        guard field == 0 || text[start - 1] == separator else { return nil }
        var number: UInt64 = 0
        for position in start..<(start + fieldLength) {
            switch text[position] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                number = number << 4 | UInt64(text[position] - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                number = number << 4 | UInt64(text[position] - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }
}

extension SQLiteConnection {
    /// Runs the body of a write transaction, and marks the commit if the body changed any row. A transaction that changes
    /// nothing writes nothing.
    func withLogMark<T>(_ body: () throws -> T) throws -> T {
        let before = totalChanges
        let result = try body()
        if totalChanges != before, isInTransaction { try advanceLogMark() }
        return result
    }

    /// Replaces the mark by that of the next commit.
    func advanceLogMark() throws {
        let current = try withStatement(SQLiteFormat.selectMetadata) { statement in
            try statement.bind(SQLiteLogMark.key, at: 1)
            return try statement.step() ? try statement.text(at: 0) : nil
        }
        var text = current ?? ""
        let cookie = try withStatement("PRAGMA schema_version") { try $0.step() ? $0.int64(at: 0) : 0 }
        let last = text.withUTF8 { SQLiteLogMark(UnsafeRawBufferPointer($0)) }
        let mark = SQLiteLogMark(after: last, schemaCookie: cookie)
        try withStatement(SQLiteFormat.replaceMetadata) { statement in
            try statement.bind(SQLiteLogMark.key, at: 1)
            try statement.bind(mark.text, at: 2)
            try statement.run()
        }
    }
}
