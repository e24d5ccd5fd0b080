import Foundation

/// A condition on records, or a value computed from them: what every predicate and every filter text is lowered to.
///
/// It is meant the way Swift means it: a condition is true or false, never unknown; nil equals nil and nothing else; an
/// order comparison with nil is false. Names are the schema's, so it can be kept in a file, and be bound to any schema
/// that has them.
public indirect enum FilterExpression: Sendable, Hashable {
    /// A constant.
    case literal(Value)
    /// An attribute of the record asked for, or of one that to-one relationships lead to; nil when one of them is nil.
    case attribute(AttributePath)
    /// Whether to-one relationships lead to a record.
    case exists(RecordPath)
    /// The opposite.
    case not(FilterExpression)
    /// Whether all hold; true when there is none.
    case and([FilterExpression])
    /// Whether one holds; false when there is none.
    case or([FilterExpression])
    /// A comparison of two values.
    case compare(Comparison, FilterExpression, FilterExpression)
    /// Whether the value is one of the constants.
    case isIn(FilterExpression, [Value])
    /// A test of text, or, by ``TextTest/contains``, of a list of texts or of links.
    case text(TextTest, FilterExpression, FilterExpression)
    /// Whether one of the related records fulfils a condition, in which it is the record of that variable number.
    case some(CollectionPath, variable: Int, FilterExpression)
    /// Whether all related records fulfil a condition; true when there is none.
    case every(CollectionPath, variable: Int, FilterExpression)
    /// How many of the related records fulfil a condition.
    case count(CollectionPath, variable: Int, FilterExpression)
    /// The number of Characters of a text, of texts in a list, of bytes; nil for nil.
    case length(FilterExpression)
    /// The first value, or the second when it is nil.
    case coalesce(FilterExpression, FilterExpression)
    /// The second value when the first holds, else the third.
    case conditional(FilterExpression, FilterExpression, FilterExpression)
    /// The least element of a list of texts or of links; nil when there is none.
    case least(FilterExpression)
    /// The greatest element of a list of texts or of links; nil when there is none.
    case greatest(FilterExpression)
    /// How two texts are ordered when letter case does not matter: -1, 0 or 1, as `String.caseInsensitiveCompare(_:)` has
    /// it; nil when one is nil.
    case caseInsensitiveOrder(FilterExpression, FilterExpression)
    /// Arithmetic on two values of one kind; nil when one is nil.
    case arithmetic(Arithmetic, FilterExpression, FilterExpression)

    /// The comparisons.
    public enum Comparison: String, Sendable, Hashable, Codable {
        /// Both are equal; nil equals nil.
        case equal = "=="
        /// They are not equal.
        case notEqual = "!="
        /// The first stands before the second; false with nil.
        case less = "<"
        /// It stands before it or is equal; false with nil.
        case lessOrEqual = "<="
        /// The first comes after the second; false with nil.
        case greater = ">"
        /// The first comes after the second or equals it; false with nil.
        case greaterOrEqual = ">="
    }

    /// The tests of text. Text is compared by Characters, as Swift does.
    public enum TextTest: String, Sendable, Hashable, Codable {
        /// The text occurs in it; in a list of texts or of links: the element is one of them.
        case contains = "CONTAINS"
        /// It begins with the text.
        case beginsWith = "BEGINSWITH"
        /// It ends with the text.
        case endsWith = "ENDSWITH"
        /// The text occurs in it, letter case and diacritics aside.
        case searches = "CONTAINS[cd]"
    }

    /// The arithmetic operations. Where Swift traps, they are an error; doubles become infinite or NaN as in Swift, and NaN equals nothing and
    /// comes neither before nor after anything.
    public enum Arithmetic: String, Sendable, Hashable, Codable {
        /// Sum.
        case add = "+"
        /// Difference.
        case subtract = "-"
        /// Product.
        case multiply = "*"
        /// Quotient; of whole numbers, rounded towards zero.
        case divide = "/"
        /// Remainder of whole numbers, with the sign of the first.
        case remainder = "%"
    }

    /// No condition.
    public static let always = FilterExpression.literal(.bool(true))
    /// A condition that nothing fulfils.
    public static let never = FilterExpression.literal(.bool(false))

    /// Whether all of the conditions hold: conditions are composed here, where the type checker sets no limit.
    public static func all(_ conditions: [FilterExpression]) -> FilterExpression {
        var parts: [FilterExpression] = []
        for condition in conditions {
            switch condition {
            case .and(let inner): parts += inner
            case .literal(.bool(true)): break
            default: parts.append(condition)
            }
        }
        return parts.count == 1 ? parts[0] : (parts.isEmpty ? .always : .and(parts))
    }

    /// Whether one of the conditions holds.
    public static func any(_ conditions: [FilterExpression]) -> FilterExpression {
        conditions.count == 1 ? conditions[0] : .or(conditions)
    }
}

/// To-one relationships, one after the other, from a variable's record. Variable 0 is the record asked for.
public struct RecordPath: Sendable, Hashable, Codable {
    /// The variable: 0 for the record asked for, others are bound by collection conditions.
    public var variable: Int
    /// Names of to-one relationships.
    public var hops: [String]

    /// Makes a path.
    public init(variable: Int = 0, hops: [String] = []) {
        self.variable = variable
        self.hops = hops
    }
}

/// An attribute at the end of a ``RecordPath``.
public struct AttributePath: Sendable, Hashable, Codable {
    /// The record.
    public var record: RecordPath
    /// The attribute's name.
    public var attribute: String

    /// Makes a path.
    public init(_ attribute: String, of record: RecordPath = RecordPath()) {
        self.record = record
        self.attribute = attribute
    }
}

/// A to-many or many-to-many relationship at the end of a ``RecordPath``; empty when the path leads to no record.
public struct CollectionPath: Sendable, Hashable, Codable {
    /// The record.
    public var record: RecordPath
    /// The relationship's name.
    public var relationship: String

    /// Makes a path.
    public init(_ relationship: String, of record: RecordPath = RecordPath()) {
        self.record = record
        self.relationship = relationship
    }
}

/// The text form: what `FilterParser` reads. Its grammar is in the article *Query semantics*.
extension FilterExpression: CustomStringConvertible {
    /// The text form.
    public var description: String { FilterPrinter(depth: 0).condition(self) }

    /// Reads the text form.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidQuery`` with the column.
    public init(text: String) throws {
        var parser = try FilterParser(text)
        self = try parser.parse()
    }
}

/// In JSON a filter is a string, its text form, so that a file of queries can be read and written by people.
extension FilterExpression: Codable {
    /// Reads the text form.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        do {
            try self.init(text: text)
        } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "\(error)", underlyingError: error)
            )
        }
    }

    /// Writes the text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// Writes expressions; `depth` is the number of the innermost variable, whose names need no prefix.
private struct FilterPrinter {
    let depth: Int

    func condition(_ expression: FilterExpression) -> String {
        switch expression {
        case .and(let parts): return joined(parts, by: " AND ", empty: "TRUE")
        case .or(let parts): return joined(parts, by: " OR ", empty: "FALSE")
        case .not(let inner): return "NOT \(operand(inner))"
        case .exists(let path):
            // A path without a hop has no name; its variable says what is meant.
            return "EXISTS " + (path.hops.isEmpty ? "$\(path.variable)" : name(path))
        case .compare(let comparison, let left, let right):
            return "\(operand(left)) \(comparison.rawValue) \(operand(right))"
        case .isIn(let member, let values):
            return "\(operand(member)) IN [\(values.map(\.description).joined(separator: ", "))]"
        case .text(let test, let text, let part): return "\(operand(text)) \(test.rawValue) \(operand(part))"
        case .some(let path, let variable, let inner): return collection("ANY", path, variable, inner)
        case .every(let path, let variable, let inner): return collection("ALL", path, variable, inner)
        case .arithmetic(let operation, let left, let right):
            return "\(operand(left)) \(operation.rawValue) \(operand(right))"
        case .literal, .attribute, .count, .length, .least, .greatest, .caseInsensitiveOrder, .coalesce, .conditional:
            return operand(expression)
        }
    }

    private func operand(_ expression: FilterExpression) -> String {
        switch expression {
        case .literal(let value): return value.description
        case .attribute(let path):
            let record = name(path.record)
            return record.isEmpty ? escaped(path.attribute) : "\(record).\(escaped(path.attribute))"
        case .count(let path, let variable, let inner): return collection("COUNT", path, variable, inner)
        case .length(let inner): return "LENGTH(\(condition(inner)))"
        case .least(let inner): return "MIN(\(condition(inner)))"
        case .greatest(let inner): return "MAX(\(condition(inner)))"
        case .caseInsensitiveOrder(let left, let right):
            return "CASECOMPARE(\(condition(left)), \(condition(right)))"
        case .coalesce(let first, let second): return "COALESCE(\(condition(first)), \(condition(second)))"
        case .conditional(let test, let first, let second):
            return "IF(\(condition(test)), \(condition(first)), \(condition(second)))"
        default: return "(\(condition(expression)))"
        }
    }

    private func joined(_ parts: [FilterExpression], by separator: String, empty: String) -> String {
        guard parts.count != 1 else { return condition(parts[0]) }
        return parts.isEmpty
            ? empty
            : parts.map { part in
                switch part {
                case .and, .or: return "(\(condition(part)))"
                default: return condition(part)
                }
            }.joined(separator: separator)
    }

    private func collection(
        _ word: String,
        _ path: CollectionPath,
        _ variable: Int,
        _ inner: FilterExpression
    ) -> String {
        let record = name(path.record)
        var text = "\(word) " + (record.isEmpty ? "" : record + ".") + escaped(path.relationship)
        if variable != depth &+ 1 { text += " $\(variable)" }
        if inner != .always { text += " { \(FilterPrinter(depth: variable).condition(inner)) }" }
        return text
    }

    private func name(_ path: RecordPath) -> String {
        ((path.variable == depth ? [] : ["$\(path.variable)"]) + path.hops.map(escaped)).joined(separator: ".")
    }

    private func escaped(_ name: String) -> String {
        FilterParser.needsQuotes(name) ? "`\(name)`" : name
    }
}
