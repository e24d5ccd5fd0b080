/// How a store answers a query.
public struct QueryExplanation: Sendable, Hashable, Codable {
    /// Which part of the work the engine does.
    public enum Method: String, Sendable, Hashable, Codable {
        /// The engine finds exactly the records.
        case native
        /// The engine finds a superset, which is finished in Swift.
        case nativeAndResidual
        /// Every record of the entity is looked at.
        case scan
    }

    /// The part of the engine.
    public let method: Method
    /// The engine's access path: index and range, or scan.
    public let accessPath: String
    /// The filter that was lowered, in its text form.
    public let filter: String
    /// Whether a predicate that could not be lowered is evaluated by Foundation for every candidate.
    public let evaluatesPredicate: Bool
    /// Whether the order comes from the engine; otherwise the records are sorted in memory.
    public let orderIsNative: Bool
}

extension QueryExplanation: CustomStringConvertible {
    /// One line for people.
    public var description: String {
        var text = "\(method.rawValue): \(accessPath)"
        if method != .native { text += ", residual \(evaluatesPredicate ? "predicate" : filter)" }
        return text + (orderIsNative ? "" : ", sorted in memory")
    }
}
