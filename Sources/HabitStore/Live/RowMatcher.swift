/// Tells of single records whether they fulfil a fetch's condition, in one transaction: by the same compiled filter that finishes
/// what an engine leaves of a query, made of the whole condition. The order and the window do not count.
@_spi(Engines) public struct RowMatcher {
    private let filter: CandidateFilter

    init(_ filter: CandidateFilter) { self.filter = filter }

    /// Whether a record fulfils the condition. The row has to be at its beginning, and is so afterwards.
    ///
    /// - Throws: ``HabitStoreError/Code/evaluationFailed`` where evaluating it would trap in Swift.
    public func matches(_ row: inout AttributeReader) throws -> Bool { try filter.passes(&row) }
}
