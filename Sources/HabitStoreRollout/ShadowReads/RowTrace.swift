import HabitStore

/// Digests rows while they are passed on to the caller.
struct RowTrace {
    private let projection: [Int]?
    private(set) var digest = RowDigest()
    /// Whether the caller stopped after the last row, or threw an error.
    var isCut = false
    /// Whether the caller is reading the row.
    private var isCallersTurn = false
    /// The store's error, if it has no answer.
    private(set) var failure: (any Error)?

    init(_ projection: [Int]?) { self.projection = projection }

    /// Digests a row and passes it on to the caller. If the row cannot be read completely, the caller may still be able to read a part of it.
    mutating func take<R>(_ row: inout AttributeReader, _ body: (inout AttributeReader) throws -> R) throws -> R {
        do {
            if projection == nil {
                // The caller reads the digested bytes, so that an engine's columns are not read twice.
                return try row.withEncodedReader { bytes, reader in
                    digest.add(RowHash(bytes))
                    return try hand(&reader, body)
                }
            }
            try digest.add(row, projection)
        } catch  where !isCallersTurn {
            failure = error
        }
        return try hand(&row, body)
    }

    private mutating func hand<R>(
        _ row: inout AttributeReader,
        _ body: (inout AttributeReader) throws -> R
    ) throws -> R {
        isCallersTurn = true
        let result = try body(&row)
        isCallersTurn = false
        return result
    }

    /// Notes the error that ended the rows. The caller's own errors say nothing about the store.
    mutating func fail(_ error: any Error) {
        if isCallersTurn { isCut = true } else { failure = error }
    }
}
