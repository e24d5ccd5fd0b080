import HabitStore

/// A query of a fuzz run.
struct FuzzQuery: Hashable, Sendable {
    /// What is asked.
    enum Question: Hashable, Sendable {
        case fetch, count, identifiers
        /// The records without their Swift type; by a filter only.
        case records
        /// Some attributes.
        case project([Int])
        /// Pages of a size, each by the cursor of the one before.
        case pages(size: Int)
    }

    /// How the condition is put.
    enum Form: Hashable, Sendable {
        /// As a Foundation predicate, the nodes' types hidden or not.
        case predicate(isErased: Bool)
        /// As a filter expression.
        case filter
        /// As a filter that is composed of predicates and expressions, which take turns.
        case composed
    }

    /// One key of the order.
    struct SortKey: Hashable, Sendable {
        let position: Int
        let isAscending: Bool
    }

    let entity: Int
    var condition: FuzzExpression
    var form: Form
    var sort: [SortKey] = []
    var limit: Int?
    var offset = 0
    var question = Question.fetch
}
