/// A b-tree page of a database (https://www.sqlite.org/fileformat.html, 1.6), read without SQLite, which must not open the file
/// yet. All offsets are checked; one outside the page gives nil.
struct SQLitePage {
    /// The kinds of b-tree pages.
    enum Kind: UInt8 {
        case indexInterior = 0x02
        case tableInterior = 0x05
        case indexLeaf = 0x0A
        case tableLeaf = 0x0D

        var isInterior: Bool { self == .indexInterior || self == .tableInterior }
        var isIndex: Bool { self == .indexInterior || self == .indexLeaf }
    }

    /// A value of a record: its serial type (2.1) and its range in the page.
    struct Column {
        let type: UInt64
        let range: Range<Int>

        var isText: Bool { type >= 13 && type % 2 == 1 }
    }

    let bytes: UnsafeRawBufferPointer
    let kind: Kind
    let cellCount: Int
    /// The offset of the b-tree header, which in page 1 follows the header of the file.
    private let start: Int

    /// Nil for a page that is not part of a b-tree.
    init?(_ bytes: UnsafeRawBufferPointer, number: UInt32) {
        start = number == 1 ? SQLiteHeader.length : 0
        guard bytes.count >= 512, let kind = Kind(rawValue: bytes[start]) else { return nil }
        (self.bytes, self.kind) = (bytes, kind)
        cellCount = Int(bytes[start + 3]) << 8 | Int(bytes[start + 4])
        guard start + headerLength + cellCount * 2 <= bytes.count else { return nil }
    }

    private var headerLength: Int { kind.isInterior ? 12 : 8 }

    /// The page with what follows all cells of an interior page.
    var rightChild: UInt32? { kind.isInterior ? word(start + 8) : nil }

    /// The page with what precedes a cell of an interior page.
    func leftChild(_ cell: Int) -> UInt32? { kind.isInterior ? place(cell).flatMap(word) : nil }

    /// The first values of a cell's record, if they are in this page; nil if the cell is malformed.
    func columns(_ cell: Int, _ count: Int) -> [Column]? {
        guard kind != .tableInterior, let place = place(cell) else { return nil }
        var position = place + (kind == .indexInterior ? 4 : 0)
        guard varint(&position) != nil, kind.isIndex || varint(&position) != nil else { return nil }
        let record = position
        guard let headerLength = varint(&position), headerLength < UInt64(bytes.count) else { return nil }
        let headerEnd = record + Int(headerLength)
        var value = headerEnd
        var columns: [Column] = []
        while columns.count < count, position < headerEnd {
            guard let type = varint(&position), let length = Self.length(ofType: type),
                value <= bytes.count, length <= bytes.count - value
            else { return nil }
            columns.append(Column(type: type, range: value..<(value + length)))
            value += length
        }
        return columns
    }

    /// The bytes of a value.
    func bytes(of column: Column) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[column.range]) }

    /// A non-negative integer value; nil for any other.
    func number(of column: Column) -> UInt64? {
        switch column.type {
        case 9: 1
        case 1...6: bytes(of: column).reduce(0) { $0 << 8 | UInt64($1) }
        default: nil
        }
    }

    private func place(_ cell: Int) -> Int? {
        guard (0..<cellCount).contains(cell) else { return nil }
        let pointer = start + headerLength + cell * 2
        return Int(bytes[pointer]) << 8 | Int(bytes[pointer + 1])
    }

    private func word(_ offset: Int) -> UInt32? {
        guard offset + 4 <= bytes.count else { return nil }
        return bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// A variable-length integer of one to nine bytes (1.6).
    private func varint(_ position: inout Int) -> UInt64? {
        var number: UInt64 = 0
        for index in 0..<9 {
            guard position < bytes.count else { return nil }
            let byte = bytes[position]
            position += 1
            if index == 8 { return number << 8 | UInt64(byte) }
            number = number << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { return number }
        }
        return nil
    }

    private static func length(ofType type: UInt64) -> Int? {
        switch type {
        case 0, 8, 9: 0
        case 1...4: Int(type)
        case 5: 6
        case 6, 7: 8
        case 12...: Int(exactly: (type - 12) / 2)
        default: nil
        }
    }
}

extension SQLitePage {
    /// The result of searching a page of the metadata for a key.
    enum Search {
        case found(UnsafeRawBufferPointer)
        /// Not in this page; if anywhere, then in the page with this number.
        case child(UInt32)
        /// Neither here nor anywhere else.
        case absent
    }

    /// Searches for a row of the metadata, whose records are a key and a value, both text. Nil if the page is malformed or belongs
    /// to another table.
    func metadata(_ key: String) -> Search? {
        guard kind.isIndex else { return nil }
        var (lower, upper) = (0, cellCount)
        while lower < upper {
            let middle = (lower + upper) / 2
            // Values of other keys may continue on overflow pages.
            guard let first = columns(middle, 1)?.first, first.isText else { return nil }
            let found = bytes(of: first)
            if found.elementsEqual(key.utf8) {
                guard let columns = columns(middle, 3), columns.count == 2, columns[1].isText else { return nil }
                return .found(bytes(of: columns[1]))
            }
            if found.lexicographicallyPrecedes(key.utf8) { lower = middle + 1 } else { upper = middle }
        }
        guard kind.isInterior else { return .absent }
        return (lower < cellCount ? leftChild(lower) : rightChild).map { .child($0) }
    }

    /// The root page of a table, if this leaf of the schema lists it.
    func root(ofTable name: String) -> UInt32? {
        guard kind == .tableLeaf else { return nil }
        for cell in 0..<cellCount {
            guard let columns = columns(cell, 4), columns.count == 4 else { continue }
            if bytes(of: columns[0]).elementsEqual("table".utf8), bytes(of: columns[1]).elementsEqual(name.utf8) {
                return number(of: columns[3]).flatMap(UInt32.init(exactly:))
            }
        }
        return nil
    }

    /// The mark, if this page of the metadata contains it.
    var logMark: SQLiteLogMark? {
        guard case .found(let text) = metadata(SQLiteLogMark.key) else { return nil }
        return SQLiteLogMark(text)
    }
}

/// The header of a database file (https://www.sqlite.org/fileformat.html, 1.3).
struct SQLiteHeader: Equatable, Sendable {
    /// The length of a header in bytes.
    static let length = 100

    let pageSizeBytes: Int64
    let pageCount: Int64
    let userVersion: Int64
    let applicationID: Int64
    /// Whether text is stored in UTF-8, as opposed to UTF-16.
    let isInUTF8: Bool
    /// Whether writers use the write-ahead log.
    let isInLogMode: Bool
    /// Whether ``pageCount`` is valid: programs from before 2010 did not maintain it.
    let isPageCountKept: Bool

    init(
        pageSizeBytes: Int64,
        pageCount: Int64,
        userVersion: Int64,
        isInUTF8: Bool,
        applicationID: Int64,
        isInLogMode: Bool
    ) {
        self.pageSizeBytes = pageSizeBytes
        self.pageCount = pageCount
        self.userVersion = userVersion
        self.applicationID = applicationID
        self.isInUTF8 = isInUTF8
        self.isInLogMode = isInLogMode
        isPageCountKept = true
    }

    /// Nil for bytes that do not start like a database.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.length, bytes.starts(with: Array("SQLite format 3\0".utf8)) else { return nil }
        func number(_ range: Range<Int>) -> UInt32 { bytes[range].reduce(0) { $0 << 8 | UInt32($1) } }
        let pageSize = Int64(number(16..<18))
        pageSizeBytes = pageSize == 1 ? 65_536 : pageSize
        pageCount = Int64(number(28..<32))
        userVersion = Int64(Int32(bitPattern: number(60..<64)))
        applicationID = Int64(Int32(bitPattern: number(68..<72)))
        isInUTF8 = number(56..<60) <= 1
        isInLogMode = bytes[18] == 2 && bytes[19] == 2
        isPageCountKept = pageCount > 0 && bytes[24..<28] == bytes[92..<96]
    }
}
