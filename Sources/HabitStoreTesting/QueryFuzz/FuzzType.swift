import Foundation
import HabitStore

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
