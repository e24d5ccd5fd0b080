@_spi(Engines) import HabitStore

extension SQLiteStatement {
    /// Binds all columns of a record in order.
    func bind(_ record: RecordView, _ table: SQLiteTable) throws {
        for (index, position) in table.columnPositions.enumerated() {
            try bind(record, position, table.kinds[position], at: Int32(index + 1))
        }
    }

    /// Binds one attribute of a record in its column's form. Texts, bytes and identifiers are not copied: the statement runs, or is
    /// cleared, before the record's memory is reused.
    func bind(_ record: RecordView, _ position: Int, _ kind: AttributeKind, at index: Int32) throws {
        if record.isNull(at: position) { return try bindNull(at: index) }
        switch kind {
        case .data, .uuid: try bindInPlace(try record.rawBytes(at: position), at: index)
        case .string:
            let utf8 = try record.rawBytes(at: position)
            // Bytes that may not be UTF-8 are converted to a text first.
            guard utf8.isASCII else { return try bind(try record.value(at: position), at: index) }
            try bindInPlace(utf8: utf8, at: index)
        case .double, .date:
            let bits = try record.rawBytes(at: position).loadUnaligned(as: UInt64.self)
            try bind(Double(bitPattern: UInt64(littleEndian: bits)), at: index)
        case .bool, .int, .strings, .links: try bind(try record.value(at: position), at: index)
        }
    }
}
