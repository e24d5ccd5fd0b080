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
    /// What of the filter is left to be evaluated for every candidate, in its text form; nil when nothing is.
    public let residual: String?
    /// Whether a predicate that could not be lowered as a whole is evaluated for every candidate.
    public let evaluatesPredicate: Bool
    /// Whether the order comes from the engine; otherwise the records are sorted in memory.
    public let orderIsNative: Bool
    /// About how many candidates the access path leads to; nil when the engine cannot tell without looking at them.
    public let estimatedRows: Int?
}

extension QueryExplanation: CustomStringConvertible {
    /// One line for people.
    public var description: String {
        var text = "\(method.rawValue): \(accessPath)"
        if let estimatedRows { text += ", about \(estimatedRows) \(estimatedRows == 1 ? "row" : "rows")" }
        var residuals = residual.map { [$0] } ?? []
        if evaluatesPredicate { residuals.append("predicate") }
        if !residuals.isEmpty { text += ", residual \(residuals.joined(separator: " and "))" }
        return text + (orderIsNative ? "" : ", sorted in memory")
    }
}

/// How a store answered a query, and how much work that was.
public struct QueryAnalysis: Sendable, Hashable, Codable {
    /// How it was answered.
    public let explanation: QueryExplanation
    /// The records that were examined.
    public let statistics: FetchStatistics
    /// How long it took, in seconds.
    public let seconds: Double
}

extension QueryAnalysis: CustomStringConvertible {
    /// Two lines for people.
    public var description: String {
        let (examined, followed, returned) = (statistics.examined, statistics.followed, statistics.returned)
        return """
            \(explanation)
            \(examined) examined, \(followed) followed through relationships, \(returned) returned, \
            \(Self.milliseconds(seconds)) ms
            """
    }

    private static func milliseconds(_ seconds: Double) -> String {
        let microseconds = Int((seconds * 1_000_000).rounded())
        let fraction = String(microseconds % 1_000)
        return "\(microseconds / 1_000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    }
}
