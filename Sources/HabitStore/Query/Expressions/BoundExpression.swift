import Foundation

/// A ``FilterExpression`` with its names resolved against a schema: what engines plan and the evaluator runs.
@_spi(Engines) public indirect enum BoundExpression: Sendable, Hashable {
    /// A constant.
    case literal(Value)
    /// An attribute at the end of a path.
    case attribute(BoundPath, position: Int, kind: AttributeKind, isOptional: Bool)
    /// Whether a path leads to a record.
    case exists(BoundPath)
    /// The opposite.
    case not(BoundExpression)
    /// Whether all hold.
    case and([BoundExpression])
    /// Whether one holds.
    case or([BoundExpression])
    /// A comparison.
    case compare(FilterExpression.Comparison, BoundExpression, BoundExpression)
    /// Membership in constants.
    case isIn(BoundExpression, [Value])
    /// A test of text.
    case text(FilterExpression.TextTest, BoundExpression, BoundExpression)
    /// Whether one of the related records fulfils a condition.
    case some(BoundCollection, BoundExpression)
    /// Whether all related records fulfil a condition.
    case every(BoundCollection, BoundExpression)
    /// How many of the related records fulfil a condition.
    case count(BoundCollection, BoundExpression)
    /// The length of a text, list or data.
    case length(BoundExpression)
    /// The first value, or the second when it is nil.
    case coalesce(BoundExpression, BoundExpression)
    /// A choice.
    case conditional(BoundExpression, BoundExpression, BoundExpression)
    /// The least element of a list.
    case least(BoundExpression)
    /// The greatest element of a list.
    case greatest(BoundExpression)
    /// The order of two texts, letter case aside.
    case caseInsensitiveOrder(BoundExpression, BoundExpression)
    /// Arithmetic.
    case arithmetic(FilterExpression.Arithmetic, BoundExpression, BoundExpression)
}

/// A resolved ``RecordPath``.
@_spi(Engines) public struct BoundPath: Sendable, Hashable {
    /// The variable that it starts from.
    public let variable: Int
    /// For each hop, the position of the reference attribute and the entity it leads to.
    public let hops: [Hop]

    /// One to-one step.
    public struct Hop: Sendable, Hashable {
        /// The position of the stored reference.
        public let attribute: Int
        /// The entity that it leads to.
        public let destination: Int
    }

    /// Whether it is the record asked for itself.
    public var isRoot: Bool { variable == 0 && hops.isEmpty }
}

/// A resolved ``CollectionPath``.
@_spi(Engines) public struct BoundCollection: Sendable, Hashable {
    /// How the related records are found.
    public enum Storage: Sendable, Hashable {
        /// They refer to the record by this attribute.
        case referring(attribute: Int)
        /// The record's links in this attribute lead to them.
        case linked(attribute: Int)
        /// Their links in this attribute lead to the record.
        case linking(attribute: Int)
    }

    /// The record whose related records are meant.
    public let path: BoundPath
    /// How they are found.
    public let storage: Storage
    /// The entity of the related records.
    public let destination: Int
    /// The variable under which the condition knows each of them.
    public let variable: Int
}
