import HabitStore

/// Writes records whose keys come ascending and differ: one cursor goes along the tree, and behind the greatest key that there
/// was pages are filled one after the other.
///
/// Nothing else may write to the database meanwhile.
struct LMDBAscendingPuts {
    private let cursor: LMDBCursor
    /// The greatest key that there was; nil when there was none, and once keys are beyond it.
    private var greatest: [UInt8]?

    init(_ transaction: LMDBTransaction, _ database: LMDBDatabase) throws {
        cursor = try transaction.cursor(database)
        greatest = try cursor.last().map { Array($0.key) }
    }

    /// Writes a value.
    ///
    /// - Returns: false when `mode` is `.noOverwrite` and the key was there.
    @discardableResult
    mutating func put(
        _ key: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer,
        mode: LMDBPutMode
    ) throws -> Bool {
        if let greatest, greatest.withUnsafeBytes({ LMDBKeyOrder.isBefore($0, key) }) { self.greatest = nil }
        return try cursor.put(key, value, mode: greatest == nil ? .append : mode)
    }
}
