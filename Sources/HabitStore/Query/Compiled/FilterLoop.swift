/// A compiled filter as a loop over rows has it at hand: nothing is looked up, and no reference counted, for each row.
struct FilterLoop {
    let rows: FilterRows
    let test: FilterTest

    /// Whether a row fulfils the condition. The row stays where it is.
    @inline(__always)
    func matches(_ row: inout AttributeReader) throws -> Bool {
        try withUnsafePointer(to: &row) { reader in
            rows[0] = reader
            return try test(rows)
        }
    }
}

/// A test in an array of tests; a bare closure would be stored in a form that takes three calls to run.
struct FilterPart {
    let test: FilterTest
}
