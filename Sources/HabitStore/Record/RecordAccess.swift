/// A record as the evaluator sees it: values by position.
@_spi(Engines) public protocol RecordAccess {
    /// The value of the attribute at a position.
    func value(at position: Int) throws -> Value
}
