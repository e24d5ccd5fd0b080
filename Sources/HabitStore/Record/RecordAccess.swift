/// A record as the evaluator sees it: values by position.
public protocol RecordAccess {
    /// The value of the attribute at a position.
    func value(at position: Int) throws -> Value
}
