import HabitStore
@_spi(Engines) import OrderedKeys

/// Writes records with ascending, distinct keys, none of which is a prefix of another: a cursor moves along the tree, and pages
/// after the greatest existing key are filled one after the other.
///
/// An eighth of those pages stays free. LMDB fills appended pages completely, and later insertions between their records would
/// split them, for a larger file and a longer sync. LMDB has no option for this, so a placeholder record as large as the free part
/// occupies it while the page is being filled, and is removed when later pages are being filled.
struct LMDBAscendingPuts {
    private let transaction: LMDBTransaction
    private let database: LMDBDatabase
    private let cursor: LMDBCursor
    private let pageSizeBytes: Int
    /// As many bytes as a page leaves free.
    private let filling: [UInt8]
    /// The greatest existing key; nil if there was none, and once the new keys are beyond it.
    private var greatest: [UInt8]?
    /// The number of bytes appended since the last placeholder.
    private var appendedBytes = 0
    /// The keys of the current placeholders, in order.
    private var placeholders: [[UInt8]] = []

    /// The part of a page that stays free.
    private static let freePart = 8
    /// A placeholder is removed after this many others, when its page gets no more records.
    private static let lasting = 2

    /// Runs `body`, which must not write to the database in any other way. If it throws, the transaction cannot be committed.
    static func run<Result>(
        _ transaction: LMDBTransaction,
        _ database: LMDBDatabase,
        _ body: (inout LMDBAscendingPuts) throws -> Result
    ) throws -> Result {
        var puts = try LMDBAscendingPuts(transaction, database)
        do {
            let result = try body(&puts)
            try puts.removePlaceholders(keeping: 0)
            return result
        } catch {
            transaction.poison(
                LMDBError.error(.internalInconsistency, "a batch was written in part", path: transaction.core.path)
            )
            throw error
        }
    }

    private init(_ transaction: LMDBTransaction, _ database: LMDBDatabase) throws {
        self.transaction = transaction
        self.database = database
        pageSizeBytes = try transaction.core.statistics().pageSizeBytes
        filling = [UInt8](repeating: 0, count: pageSizeBytes / Self.freePart)
        cursor = try transaction.cursor(database)
        greatest = try cursor.last().map { Array($0.key) }
    }

    /// Writes a value.
    ///
    /// - Returns: false if `mode` is `.noOverwrite` and the key exists.
    @discardableResult
    mutating func put(
        _ key: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer,
        mode: LMDBPutMode
    ) throws -> Bool {
        if let greatest {
            guard greatest.withUnsafeBytes({ KeyOrder.isBefore($0, key) }) else {
                return try cursor.put(key, value, mode: mode)
            }
            self.greatest = nil
        }
        _ = try cursor.put(key, value, mode: .append)
        appendedBytes += leafBytes(key.count, value.count)
        if appendedBytes > pageSizeBytes - filling.count { try keepRoom(behind: key) }
        return true
    }

    private mutating func keepRoom(behind key: UnsafeRawBufferPointer) throws {
        guard key.count < LMDBTransaction.maximumKeyLength else { return }
        // The least key after this one. It sorts before the next key, which does not begin with this one.
        var placeholder: [UInt8] = []
        placeholder.reserveCapacity(key.count + 1)
        placeholder.append(contentsOf: key)
        placeholder.append(0)
        try placeholder.withUnsafeBytes { key in
            let length = max(0, filling.count - leafBytes(key.count, 0))
            _ = try filling.withUnsafeBytes {
                try cursor.put(key, UnsafeRawBufferPointer(rebasing: $0[..<length]), mode: .append)
            }
        }
        placeholders.append(placeholder)
        appendedBytes = 0
        try removePlaceholders(keeping: Self.lasting)
    }

    private func leafBytes(_ keyLength: Int, _ valueLength: Int) -> Int {
        LMDBFileFormat.leafBytes(keyLength: keyLength, valueLength: valueLength, pageSizeBytes: pageSizeBytes)
    }

    private mutating func removePlaceholders(keeping count: Int) throws {
        while placeholders.count > count { try transaction.delete(database, placeholders.removeFirst()) }
    }
}
