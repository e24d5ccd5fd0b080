/// Identifies the queries that a cached plan is valid for, and maps each of a query's constants to its place in the plan.
package struct KeptQuery: Sendable {
    /// Where a value of the plan comes from.
    package enum Place: Sendable {
        /// The same for all queries.
        case fixed(Value)
        /// The number of the query's constant.
        case constant(Int)

        /// The value in a query with these constants.
        package func value(_ constants: [Value]) -> Value {
            switch self {
            case .fixed(let value): value
            case .constant(let number): constants[number]
            }
        }
    }

    /// Kept, so that no other shape can take its place in memory.
    private let shape: PredicateShape
    /// The query, with marks instead of the filter's constants.
    private let query: BoundQuery

    /// - Parameter query: a query of the shape.
    package init(_ query: BoundQuery, _ shape: PredicateShape) {
        self.shape = shape
        var query = query
        query.filter = shape.markedFilter
        self.query = query
    }

    /// Where a value comes from that stands in what was made of ``PredicateShape/markedFilter``.
    package func place(_ marked: Value) -> Place {
        shape.marks.firstIndex(of: marked).map(Place.constant) ?? .fixed(marked)
    }

    /// Whether another query of the shape differs in nothing but constants and the window's ends.
    package func covers(_ other: BoundQuery) -> Bool {
        query.entity == other.entity && query.order == other.order && query.projection == other.projection
            && query.isUnordered == other.isUnordered && (query.limit == nil) == (other.limit == nil)
            && (query.offset > 0) == (other.offset > 0) && query.hasOpaqueCondition == other.hasOpaqueCondition
            && query.mayFail == other.mayFail
    }
}
