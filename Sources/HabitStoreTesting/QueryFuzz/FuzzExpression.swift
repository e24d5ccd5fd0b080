import Foundation
import HabitStore

/// A well-typed expression of the whole predicate language, as a tree that can be printed, shrunk, and made into a filter or a Foundation predicate.
indirect enum FuzzExpression: Hashable, Sendable {
    /// A constant; texts keep their original form.
    case constant(Value, FuzzType)
    /// A variable; 0 is the queried record.
    case variable(Int, FuzzType)
    case attribute(FuzzExpression, FuzzProperty, FuzzType)
    /// A to-one relationship of a record, optional, or a to-many one.
    case relationship(FuzzExpression, FuzzProperty, FuzzType)
    case operation(FuzzOperation, [FuzzExpression], FuzzType)
    /// An operation that binds a variable: to an optional's value, or to each of several elements.
    case binding(FuzzBinding, variable: Int, FuzzExpression, FuzzExpression, FuzzType)

    /// The type of its value.
    var type: FuzzType {
        switch self {
        case .constant(_, let type), .variable(_, let type), .attribute(_, _, let type), .relationship(_, _, let type),
            .operation(_, _, let type), .binding(_, _, _, _, let type):
            return type
        }
    }

    static let yes = FuzzExpression.constant(.bool(true), .bool)
    static let no = FuzzExpression.constant(.bool(false), .bool)
}

extension FuzzExpression: CustomStringConvertible {
    /// A short description; ``FuzzSource`` writes the source, which needs a schema.
    var description: String { "an expression of \(size) nodes" }
}

/// An attribute or a relationship of an entity, by its position.
struct FuzzProperty: Hashable, Sendable {
    let entity: Int
    let position: Int
}

/// The operations that bind a variable.
enum FuzzBinding: Hashable, Sendable {
    /// The second operand, in which the variable is the value that the first one wraps; nil if the first one is nil.
    case flatMap
    /// Whether at least one element fulfils the second operand.
    case some
    /// Whether all elements do.
    case every
    /// The elements that do.
    case filter
}

/// The operations that bind no variable.
enum FuzzOperation: Hashable, Sendable {
    case and, or, not, conditional, coalesce, forcedUnwrap
    /// A comparison of two values of one type.
    case compare(FilterExpression.Comparison)
    /// An order comparison of filters: of any kind, false with nil. Predicates have none like it.
    case order(FilterExpression.Comparison)
    case arithmetic(FilterExpression.Arithmetic)
    case negate
    /// A value, a lower and an upper bound; the range is captured, or the predicate makes it.
    case inRange(isClosed: Bool, isCaptured: Bool)
    /// A value and a bound.
    case inPartialRange(FuzzPartialRange)
    /// Membership in captured constants.
    case isIn([Value], isSet: Bool)
    case text(FilterExpression.TextTest)
    /// Whether two texts are, or are not, in an order that ignores letter case.
    case caseOrder(ComparisonResult, isNegated: Bool)
    /// Whether a list begins with another one, or contains it.
    case listBegins, listHasPart
    case matches(FuzzRegex)
    case length, isEmpty
    case first, last, least, greatest
    /// Whether a list contains an element.
    case hasElement
    /// The element of a list at an index.
    case element
    /// A captured dictionary's value for a text; if it has none, the second operand, if there is one.
    case lookup([String: Int])
    case rawValue
    case typeCheck(FuzzType)
    case conditionalCast(FuzzType)
    case forceCast(FuzzType)
}

/// Ranges with one bound.
enum FuzzPartialRange: String, Hashable, Sendable {
    case from, through, upTo
}

enum FuzzRegex: String, Hashable, Sendable, CaseIterable {
    case letter = "[a-z]"
    case beginsWithR = "^[rR]"
    case digits = "[0-9]+"
    case ends = "n$"
    case nothing = "(?!)"
    case anything = ".*"
}

extension FuzzExpression {
    var children: [FuzzExpression] {
        switch self {
        case .constant, .variable: return []
        case .attribute(let base, _, _), .relationship(let base, _, _): return [base]
        case .operation(_, let operands, _): return operands
        case .binding(_, _, let source, let body, _): return [source, body]
        }
    }

    /// The same expression with other operands of the same number and types.
    func replacing(_ children: [FuzzExpression]) -> FuzzExpression {
        switch self {
        case .constant, .variable: return self
        case .attribute(_, let property, let type): return .attribute(children[0], property, type)
        case .relationship(_, let property, let type): return .relationship(children[0], property, type)
        case .operation(let operation, _, let type): return .operation(operation, children, type)
        case .binding(let binding, let variable, _, _, let type):
            return .binding(binding, variable: variable, children[0], children[1], type)
        }
    }

    /// The number of nodes.
    var size: Int { children.reduce(1) { $0 + $1.size } }

    /// Whether a node fulfils a condition.
    func contains(_ condition: (FuzzExpression) -> Bool) -> Bool {
        condition(self) || children.contains { $0.contains(condition) }
    }

    /// The variables that it uses but does not bind.
    var freeVariables: Set<Int> {
        switch self {
        case .variable(let variable, _): return [variable]
        case .binding(_, let variable, let source, let body, _):
            return source.freeVariables.union(body.freeVariables.subtracting([variable]))
        default: return children.reduce(into: []) { $0.formUnion($1.freeVariables) }
        }
    }

    /// Whether a Foundation predicate can express it.
    var isPredicate: Bool {
        !contains { node in
            switch node {
            case .operation(.order, _, _), .operation(.text(.endsWith), _, _): return true
            case .operation(.arithmetic(.remainder), _, let type): return type.wrapped == .double
            default: return false
            }
        }
    }

    /// Whether its evaluation may fail.
    var mayFail: Bool {
        contains { node in
            switch node {
            case .operation(.arithmetic, _, let type), .operation(.negate, _, let type): return type.wrapped == .int
            case .operation(.forcedUnwrap, _, _), .operation(.element, _, _), .operation(.forceCast, _, _),
                .operation(.inRange(_, isCaptured: false), _, _):
                return true
            default: return false
            }
        }
    }

    /// The same expression with all constants as filters store them, with text in NFC. A constant without such a form stays unchanged.
    var normalized: FuzzExpression {
        switch self {
        case .constant(let value, let type): return .constant(Self.normalized(value), type)
        case .operation(.isIn(let values, let isSet), let operands, let type):
            return .operation(.isIn(values.map(Self.normalized), isSet: isSet), operands.map(\.normalized), type)
        default: return replacing(children.map(\.normalized))
        }
    }

    private static func normalized(_ value: Value) -> Value { (try? value.normalized()) ?? value }
}

/// The requirements on every attribute's Swift type, without its optionality.
typealias FuzzValue = AttributeConvertible & Codable & Equatable

/// The Swift type of an expression.
struct FuzzType: Hashable, Sendable {
    /// The type without its optionality.
    enum Shape: Hashable, Sendable {
        /// An attribute's value.
        case value(FuzzScalar)
        /// A record of an entity.
        case record(Int)
        /// Records of an entity.
        case records(Int)
    }

    let shape: Shape
    let isOptional: Bool

    init(_ shape: Shape, isOptional: Bool = false) {
        self.shape = shape
        self.isOptional = isOptional
    }

    static let bool = FuzzType(.value(.bool))
    static let int = FuzzType(.value(.int))
    static let double = FuzzType(.value(.double))
    static let string = FuzzType(.value(.string))
    static let strings = FuzzType(.value(.strings))
    static let uuid = FuzzType(.value(.uuid))
    static let links = FuzzType(.value(.links))

    static func record(_ entity: Int) -> FuzzType { FuzzType(.record(entity)) }
    static func records(_ entity: Int) -> FuzzType { FuzzType(.records(entity)) }

    /// The optional type.
    var optional: FuzzType { FuzzType(shape, isOptional: true) }
    /// The type without optionality.
    var wrapped: FuzzType { FuzzType(shape, isOptional: false) }

    /// The scalar; nil for records.
    var scalar: FuzzScalar? {
        if case .value(let scalar) = shape { return scalar }
        return nil
    }

    /// The entity of a record or of records.
    var entity: Int? {
        switch shape {
        case .record(let entity), .records(let entity): return entity
        case .value: return nil
        }
    }

    /// The type of the elements of lists and records.
    var element: FuzzType? {
        switch shape {
        case .records(let entity): return .record(entity)
        case .value(.strings): return .string
        case .value(.links): return .uuid
        case .value, .record: return nil
        }
    }
}

/// The types of attributes, without optionality.
enum FuzzScalar: Hashable, Sendable {
    case bool, int, double, string, date, uuid, data, strings, links
    /// An enum, stored as its raw value.
    case enumeration(FuzzCustomType)
    /// A value stored as JSON.
    case json(FuzzCustomType)

    /// The Swift type.
    var type: any FuzzValue.Type {
        switch self {
        case .bool: return Bool.self
        case .int: return Int.self
        case .double: return Double.self
        case .string: return String.self
        case .date: return Date.self
        case .uuid: return UUID.self
        case .data: return Data.self
        case .strings: return [String].self
        case .links: return Set<UUID>.self
        case .enumeration(let custom), .json(let custom): return custom.type
        }
    }

    /// How it is stored.
    var kind: AttributeKind { type.attributeKind }

    /// Whether Swift's order of it is also the order of the stored values.
    var isOrdered: Bool {
        switch self {
        case .int, .double, .string, .date, .uuid: return true
        case .bool, .data, .strings, .links, .enumeration, .json: return false
        }
    }

    /// Whether it has a count.
    var isMeasurable: Bool {
        switch self {
        case .string, .data, .strings, .links: return true
        case .bool, .int, .double, .date, .uuid, .enumeration, .json: return false
        }
    }
}

/// A type of the app or the kit.
struct FuzzCustomType: Hashable, Sendable {
    let type: any FuzzValue.Type

    static func == (left: Self, right: Self) -> Bool { ObjectIdentifier(left.type) == ObjectIdentifier(right.type) }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(type)) }
}

extension FuzzType {
    /// The type of an attribute; nil if it is not an attribute type.
    init?(_ attribute: AttributeDescription) {
        let type = Swift.type(of: attribute.keyPath as AnyKeyPath).valueType
        guard let wrapped = ((type as? any FuzzOptional.Type)?.wrapped ?? type) as? any FuzzValue.Type else {
            return nil
        }
        let scalar: FuzzScalar
        switch attribute.kind {
        case _ where wrapped is any AttributeEnum.Type: scalar = .enumeration(FuzzCustomType(type: wrapped))
        case .bool: scalar = .bool
        case .int: scalar = .int
        case .double: scalar = .double
        case .string: scalar = .string
        case .date: scalar = .date
        case .uuid: scalar = .uuid
        case .data: scalar = wrapped == Data.self ? .data : .json(FuzzCustomType(type: wrapped))
        case .strings: scalar = .strings
        case .links: scalar = .links
        }
        self.init(.value(scalar), isOptional: attribute.isOptional)
    }
}

/// Optional types, to get the type that they wrap.
protocol FuzzOptional {
    static var wrapped: Any.Type { get }
}

extension Optional: FuzzOptional {
    static var wrapped: Any.Type { Wrapped.self }
}
