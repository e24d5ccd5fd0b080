import HabitStoreImport

/// Detects a truncated CSV file: its last row has fewer fields than the one before it and no line break.
struct CSVEnd {
    private var fields: Int
    private(set) var isCut = false

    /// - Parameter fields: the number of fields in the first row.
    init(_ fields: Int) { self.fields = fields }

    init(_ bytes: [UInt8], path: String) throws {
        self.init(0)
        var reader = CSVReader(bytes, path: path)
        while let row = try reader.next() { note(row.count, reader) }
    }

    /// Records the row that a reader has just read.
    mutating func note(_ count: Int, _ reader: CSVReader) {
        isCut = !reader.isLineEnded && count < fields
        fields = count
    }
}
