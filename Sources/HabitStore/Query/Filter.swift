import Foundation

/// A condition on the records of a model, put together from pieces: predicates, expressions, texts, and other filters.
///
/// A single `#Predicate` of more than a handful of terms is more than the type checker can do; pieces have no such limit.
///
/// ```swift
/// let strong = Filter<Habit>(#Predicate { $0.streak >= 7 })
/// let named = Filter<Habit>(#Predicate { $0.name.contains(text) })
/// let wanted: Filter<Habit> = .all([strong, .any([named, try Filter(text: "category == nil")]), !archived])
/// let habits = try store.fetch(FetchDescriptor(filter: wanted))
/// ```
public indirect enum Filter<Model: PersistentModel>: Sendable {
    /// A Foundation predicate.
    case predicate(Predicate<Model>)
    /// An expression.
    case expression(FilterExpression)
    /// The opposite.
    case not(Filter)
    /// Whether all hold, asked in this order; true when there is none.
    case all([Filter])
    /// Whether one holds, asked in this order; false when there is none.
    case any([Filter])

    /// No condition.
    public static var always: Filter { .expression(.always) }
    /// A condition that nothing fulfils.
    public static var never: Filter { .expression(.never) }

    /// A filter of one predicate.
    public init(_ predicate: Predicate<Model>) { self = .predicate(predicate) }

    /// A filter of one expression.
    public init(_ expression: FilterExpression) { self = .expression(expression) }

    /// Reads the text form.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidQuery`` with the column.
    public init(text: String) throws { self = .expression(try FilterExpression(text: text)) }

    /// The opposite.
    public static prefix func ! (filter: Filter) -> Filter { .not(filter) }

    /// Whether both hold; the second is not asked where the first does not.
    public static func && (left: Filter, right: Filter) -> Filter { .all([left, right]) }

    /// Whether one holds; the second is not asked where the first does.
    public static func || (left: Filter, right: Filter) -> Filter { .any([left, right]) }

}
