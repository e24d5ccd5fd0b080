import Foundation

/// The counts of a fuzz run.
public struct QueryFuzzReport: Sendable, CustomStringConvertible {
    /// How one store answered the explained queries: one in sixteen.
    public struct Methods: Sendable {
        /// The engine found exactly the records.
        public var native = 0
        /// The engine found a superset.
        public var residual = 0
        /// The engine scanned every record.
        public var scan = 0
    }

    /// The seed of the run.
    public var seed: UInt64
    /// The names of the data sets.
    public var data: [String]
    /// Queries, each sent to every store.
    public var queries = 0
    /// Queries with Foundation predicates; the others had filters.
    public var predicates = 0
    /// Queries with results.
    public var answered = 0
    /// Queries that every store refused with the same error.
    public var failed = 0
    /// How each store answered, by its name.
    public var methods: [String: Methods] = [:]
    /// The duration in seconds.
    public var seconds = 0.0

    /// The counts in one line.
    public var description: String {
        let methods = methods.sorted { $0.key < $1.key }.map { name, counts in
            let total = Double(max(1, counts.native + counts.residual + counts.scan)) / 100
            return "\(name) \(Int((Double(counts.native) / total).rounded())) % native, "
                + "\(Int((Double(counts.residual) / total).rounded())) % with a residual, "
                + "\(Int((Double(counts.scan) / total).rounded())) % by a scan"
        }
        return
            "seed \(seed) over \(data.joined(separator: " and ")): \(queries) queries, \(predicates) of them as predicates, "
            + "\(answered) with results, \(failed) with an error, all evaluated by Foundation too; "
            + methods.joined(separator: "; ") + "; \(Int(seconds.rounded())) s"
    }

    /// Adds the counts of a run that took place at the same time.
    public static func + (left: QueryFuzzReport, right: QueryFuzzReport) -> QueryFuzzReport {
        var sum = left
        sum.queries += right.queries
        sum.predicates += right.predicates
        sum.answered += right.answered
        sum.failed += right.failed
        sum.methods.merge(right.methods) {
            Methods(native: $0.native + $1.native, residual: $0.residual + $1.residual, scan: $0.scan + $1.scan)
        }
        sum.seconds = max(left.seconds, right.seconds)
        return sum
    }
}
