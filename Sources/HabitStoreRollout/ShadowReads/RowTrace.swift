import HabitStore

/// What is kept of rows while they pass by to the caller.
struct RowTrace {
    private let projection: [Int]?
    private(set) var digest = RowDigest()
    /// Whether the caller did not want the rows behind the last one, or ended with an error of its own.
    var isCut = false
    /// Whether the caller has the row.
    private var isCallersTurn = false
    /// Why there is no answer.
    private(set) var failure: (any Error)?

    init(_ projection: [Int]?) { self.projection = projection }

    /// Takes a row in and hands it on to the caller. A row that cannot be read as a whole is no concern of a caller who may
    /// want less of it.
    mutating func take<R>(_ row: inout AttributeReader, _ body: (inout AttributeReader) throws -> R) throws -> R {
        do {
            if projection == nil {
                // The caller reads the bytes that the digest is of, and an engine's columns are not read twice.
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

    /// The rows have ended with an error. The caller's own says nothing about the store.
    mutating func fail(_ error: any Error) {
        if isCallersTurn { isCut = true } else { failure = error }
    }
}
