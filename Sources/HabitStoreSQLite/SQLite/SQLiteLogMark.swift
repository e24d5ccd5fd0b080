@_spi(Engines) import HabitStore

/// A row that every commit replaces, which shows whether a database file and a log belong together.
///
/// The file has the mark of its last checkpointed commit. The log has those of all commits since its start, and the first of them
/// names its predecessor. SQLite's own log does not identify its file.
struct SQLiteLogMark: Equatable, Sendable {
    /// The key of the row in the store's metadata.
    static let key = "logMark"
    private static let fieldLength = 16
    private static let separator = UInt8(ascii: "-")
    private static let textLength = fieldLength * 5 + 4

    /// The number of marked commits so far, including this one.
    let number: UInt64
    /// A random number that distinguishes this commit from any other with the same number.
    let id: UInt64
    /// The ``id`` of the previous marked commit; 0 for the first one.
    let previous: UInt64
    /// The schema cookie at this commit. A rebuilt file (`VACUUM INTO`) has the marks of the original but a higher cookie, and its
    /// pages have other numbers.
    let schemaCookie: UInt64

    /// The mark of the commit after `mark`, or of the first one if that is nil.
    init(after mark: SQLiteLogMark?, schemaCookie: Int64) {
        number = (mark?.number ?? 0) &+ 1
        id = UInt64.random(in: 1...UInt64.max)
        previous = mark?.id ?? 0
        self.schemaCookie = UInt64(UInt32(truncatingIfNeeded: schemaCookie))
    }

    /// Parses ``text``. Nil for anything else: a page torn by a power cut may have parts of two marks.
    init?(_ text: UnsafeRawBufferPointer) {
        guard text.count == Self.textLength, let number = Self.number(text, 0), let id = Self.number(text, 1),
            let previous = Self.number(text, 2), let cookie = Self.number(text, 3), let sum = Self.number(text, 4)
        else { return nil }
        (self.number, self.id, self.previous, schemaCookie) = (number, id, previous, cookie)
        guard sum == checksum else { return nil }
    }

    /// Five numbers of 16 hexadecimal digits, the last of which is a checksum. The length never changes, so that SQLite overwrites
    /// the row in place.
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
    /// Runs the body of a write transaction, and marks the commit if the body changed any row. A transaction without changes writes
    /// nothing.
    func withLogMark<T>(_ body: () throws -> T) throws -> T {
        let before = totalChanges
        let result = try body()
        if totalChanges != before, isInTransaction { try advanceLogMark() }
        return result
    }

    /// Replaces the mark with that of the next commit.
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
