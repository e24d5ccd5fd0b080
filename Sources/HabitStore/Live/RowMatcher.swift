/// Tells of single records whether they fulfil a fetch's condition, in one transaction: by the same compiled filter that finishes
/// what an engine leaves of a query, made of the whole condition. The order and the window do not count.
@_spi(Engines) public struct RowMatcher {
    private let filter: CandidateFilter

    init(_ filter: CandidateFilter) { self.filter = filter }

    /// Whether a record fulfils the condition. The row has to be at its beginning, and is so afterwards.
    ///
    /// - Throws: ``HabitStoreError/Code/evaluationFailed`` where evaluating it would trap in Swift. Of a condition that may fail
    ///   by its form, that is thrown by ``rethrow()``, and a record that cannot be evaluated does not fulfil it.
    public func matches(_ row: inout AttributeReader) throws -> Bool { try filter.passes(&row) }

    /// Throws the failure of the record with the least identifier among those that could not be evaluated.
    func rethrow() throws { try filter.rethrow() }
}
