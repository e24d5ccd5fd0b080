import HabitStore

/// A query of a fuzz run.
struct FuzzQuery: Hashable, Sendable {
    /// The kind of question.
    enum Question: Hashable, Sendable {
        case fetch, count, identifiers
        /// The records without their Swift type; only with a filter.
        case records
        /// Some attributes.
        case project([Int])
        /// Pages of a size, each with the cursor of the previous one.
        case pages(size: Int)
    }

    /// The form of the condition.
    enum Form: Hashable, Sendable {
        /// As a Foundation predicate, with or without erased types.
        case predicate(isErased: Bool)
        /// As a filter expression.
        case filter
        /// As a filter composed of alternating predicates and expressions.
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
