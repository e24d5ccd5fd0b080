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
