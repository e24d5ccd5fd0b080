import HabitStore

/// What is kept of rows while they pass by to the caller.
struct RowTrace {
    private let projection: [Int]?
    private(set) var digest = RowDigest()
    /// Whether the caller did not want the rows behind the last one, or ended with an error of its own.
    var isCut = false
    /// Whether the caller has the row.
    var isCallersTurn = false
    /// Why there is no answer.
    private(set) var failure: (any Error)?

    init(_ projection: [Int]?) { self.projection = projection }

    /// Takes a row in. One that cannot be read as a whole is no concern of a caller who may want less of it.
    @inline(__always)
    mutating func take(_ row: AttributeReader) {
        do {
            try digest.add(row, projection)
        } catch {
            failure = error
        }
    }

    /// The rows have ended with an error. The caller's own says nothing about the store.
    mutating func fail(_ error: any Error) {
        if isCallersTurn { isCut = true } else { failure = error }
    }
}
