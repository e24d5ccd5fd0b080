import Foundation

/// Where in the memory of a predicate's expression those parts lie in which two expressions of the same type can differ.
struct ShapeLayout: Sendable {
    /// Key paths, of which each is an object.
    private(set) var keyPaths: [Int] = []
    /// Operators and truth values.
    var bytes: [Int] = []
    /// The identifiers of variables.
    var variables: [Int] = []
    /// Captured constants.
    var constants: [Constant] = []

    /// The layout of an expression's type; nil when something in it is of no shape.
    init?<Expression: PredicateExpression>(_ type: Expression.Type) {
        guard note(type, 0, of: 0) else { return nil }
    }

    /// Notes an operand.
    ///
    /// - Parameter offset: its offset in the node at `place`; nil if unknown.
    mutating func note<Operand>(_ type: Operand.Type, _ offset: Int?, of place: Int) -> Bool {
        guard let offset, let shaped = type as? any ShapedExpression.Type else { return false }
        return shaped.note(in: &self, at: place + offset)
    }

    /// Notes an operator that is one byte.
    mutating func note<Node, Operator>(byte: KeyPath<Node, Operator>, of place: Int) -> Bool {
        guard MemoryLayout<Operator>.size == 1, let offset = MemoryLayout<Node>.offset(of: byte) else { return false }
        bytes.append(place + offset)
        return true
    }

    /// Notes a key path that is a pointer to its object.
    mutating func note<Node, Path>(keyPath: KeyPath<Node, Path>, of place: Int) -> Bool {
        guard MemoryLayout<Path>.size == MemoryLayout<AnyKeyPath>.size,
            let offset = MemoryLayout<Node>.offset(of: keyPath)
        else { return false }
        keyPaths.append(place + offset)
        return true
    }

    /// The values of the constants; nil when the lowering of one of them depends on more than its type.
    func values(at base: UnsafeRawPointer) -> [Value]? {
        var values: [Value] = []
        values.reserveCapacity(constants.count)
        for constant in constants {
            guard let value = constant.kind.load(base + constant.place) else { return nil }
            values.append(value)
        }
        return values
    }

    /// Whether every variable is this one.
    func hasOnly(_ variable: PredicateExpressions.VariableID, at base: UnsafeRawPointer) -> Bool {
        for place in variables {
            let other = (base + place).assumingMemoryBound(to: PredicateExpressions.VariableID.self)
            guard other.pointee == variable else { return false }
        }
        return true
    }
}

extension ShapeLayout {
    /// A captured constant.
    struct Constant: Sendable {
        /// The type of a constant that is lowered to a literal, whatever its value.
        enum Kind: Sendable {
            case uuid
            case optionalUUID
            case int
            case optionalInt
            case double
            case optionalDouble
            case date
            case optionalDate
            case string
            case optionalString

            init?(_ type: Any.Type) {
                switch ObjectIdentifier(type) {
                case ObjectIdentifier(UUID.self): self = .uuid
                case ObjectIdentifier(UUID?.self): self = .optionalUUID
                case ObjectIdentifier(Int.self): self = .int
                case ObjectIdentifier(Int?.self): self = .optionalInt
                case ObjectIdentifier(Double.self): self = .double
                case ObjectIdentifier(Double?.self): self = .optionalDouble
                case ObjectIdentifier(Date.self): self = .date
                case ObjectIdentifier(Date?.self): self = .optionalDate
                case ObjectIdentifier(String.self): self = .string
                case ObjectIdentifier(String?.self): self = .optionalString
                default: return nil
                }
            }

            /// The value that a constant is lowered to; nil for those that are lowered in another way: nil, numbers that no
            /// store keeps, and texts in another form than the stored ones.
            func load(_ pointer: UnsafeRawPointer) -> Value? {
                switch self {
                case .uuid: return .uuid(pointer.loadUnaligned(as: UUID.self))
                case .optionalUUID: return pointer.loadUnaligned(as: UUID?.self).map { .uuid($0) }
                case .int: return .int(Int64(pointer.loadUnaligned(as: Int.self)))
                case .optionalInt: return pointer.loadUnaligned(as: Int?.self).map { .int(Int64($0)) }
                case .double: return Self.value(pointer.loadUnaligned(as: Double.self))
                case .optionalDouble: return pointer.loadUnaligned(as: Double?.self).flatMap(Self.value)
                case .date: return Self.value(pointer.loadUnaligned(as: Date.self))
                case .optionalDate: return pointer.loadUnaligned(as: Date?.self).flatMap(Self.value)
                case .string: return Self.value(pointer.assumingMemoryBound(to: String.self).pointee)
                case .optionalString:
                    return pointer.assumingMemoryBound(to: String?.self).pointee.flatMap(Self.value)
                }
            }

            private static func value(_ date: Date) -> Value? { (try? date.storable()).map { .date($0) } }

            private static func value(_ number: Double) -> Value? {
                number.isFinite && (number != 0 || number.sign == .plus) ? .double(number) : nil
            }

            private static func value(_ text: String) -> Value? { text.isInNFC ? .string(text) : nil }

            /// Replaces a constant.
            func store(_ number: Int, at pointer: UnsafeMutableRawPointer) {
                switch self {
                case .uuid: pointer.storeBytes(of: Self.identifier(number), as: UUID.self)
                case .optionalUUID: pointer.storeBytes(of: Self.identifier(number), as: UUID?.self)
                case .int: pointer.storeBytes(of: number, as: Int.self)
                case .optionalInt: pointer.storeBytes(of: number, as: Int?.self)
                case .double: pointer.storeBytes(of: Double(number), as: Double.self)
                case .optionalDouble: pointer.storeBytes(of: Double(number), as: Double?.self)
                case .date: pointer.storeBytes(of: Self.date(number), as: Date.self)
                case .optionalDate: pointer.storeBytes(of: Self.date(number), as: Date?.self)
                case .string: pointer.assumingMemoryBound(to: String.self).pointee = Self.text(number)
                case .optionalString: pointer.assumingMemoryBound(to: String?.self).pointee = Self.text(number)
                }
            }

            private static func text(_ number: Int) -> String { number == 0 ? "" : "constant \(number)" }

            private static func identifier(_ number: Int) -> UUID {
                var bytes = uuid_t(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
                withUnsafeMutableBytes(of: &bytes) { $0.storeBytes(of: number, toByteOffset: 8, as: Int.self) }
                return UUID(uuid: bytes)
            }

            private static func date(_ number: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(number)) }
        }

        let kind: Kind
        let place: Int
    }
}

/// A node of a predicate's expression whose type alone says where in memory its parts lie, so that of the next predicate of
/// the same type only those parts have to be looked at.
///
/// Nodes whose lowering depends on more than the places of their operands (ranges, lists, inner variables) are none.
protocol ShapedExpression {
    /// Notes the parts of a node that lies at a place; false where one of them cannot be noted.
    static func note(in layout: inout ShapeLayout, at place: Int) -> Bool
}

extension PredicateExpressions.Conjunction: ShapedExpression {
    static func note(in layout: inout ShapeLayout, at place: Int) -> Bool {
        layout.note(LHS.self, MemoryLayout<Self>.offset(of: \.lhs), of: place)
            && layout.note(RHS.self, MemoryLayout<Self>.offset(of: \.rhs), of: place)
    }
}

extension PredicateExpressions.Disjunction: ShapedExpression {
    static func note(in layout: inout ShapeLayout, at place: Int) -> Bool {
        layout.note(LHS.self, MemoryLayout<Self>.offset(of: \.lhs), of: place)
            && layout.note(RHS.self, MemoryLayout<Self>.offset(of: \.rhs), of: place)
    }
}

extension PredicateExpressions.Equal: ShapedExpression {
    static func note(in layout: inout ShapeLayout, at place: Int) -> Bool {
        layout.note(LHS.self, MemoryLayout<Self>.offset(of: \.lhs), of: place)
            && layout.note(RHS.self, MemoryLayout<Self>.offset(of: \.rhs), of: place)
    }
}

extension PredicateExpressions.NotEqual: ShapedExpression {
    static func note(in layout: inout ShapeLayout, at place: Int) -> Bool {
        layout.note(LHS.self, MemoryLayout<Self>.offset(of: \.lhs), of: place)
            && layout.note(RHS.self, MemoryLayout<Self>.offset(of: \.rhs), of: place)
    }
}

extension PredicateExpressions.Comparison: ShapedExpression {
    static func note(in layout: inout ShapeLayout, at place: Int) -> Bool {
        layout.note(byte: \Self.op, of: place)
            && layout.note(LHS.self, MemoryLayout<Self>.offset(of: \.lhs), of: place)
            && layout.note(RHS.self, MemoryLayout<Self>.offset(of: \.rhs), of: place)
    }
}

extension PredicateExpressions.NilCoalesce: ShapedExpression {
    static func note(in layout: inout ShapeLayout, at place: Int) -> Bool {
        layout.note(LHS.self, MemoryLayout<Self>.offset(of: \.lhs), of: place)
            && layout.note(RHS.self, MemoryLayout<Self>.offset(of: \.rhs), of: place)
    }
}

extension PredicateExpressions.Negation: ShapedExpression {
    static func note(in layout: inout ShapeLayout, at place: Int) -> Bool {
        layout.note(Wrapped.self, MemoryLayout<Self>.offset(of: \.wrapped), of: place)
    }
}

extension PredicateExpressions.NilLiteral: ShapedExpression {
    static func note(in layout: inout ShapeLayout, at place: Int) -> Bool { true }
}

extension PredicateExpressions.KeyPath: ShapedExpression {
    static func note(in layout: inout ShapeLayout, at place: Int) -> Bool {
        layout.note(keyPath: \Self.keyPath, of: place)
            && layout.note(Root.self, MemoryLayout<Self>.offset(of: \.root), of: place)
    }
}

extension PredicateExpressions.Variable: ShapedExpression {
    static func note(in layout: inout ShapeLayout, at place: Int) -> Bool {
        guard let offset = MemoryLayout<Self>.offset(of: \.key) else { return false }
        layout.variables.append(place + offset)
        return true
    }
}

extension PredicateExpressions.Value: ShapedExpression {
    static func note(in layout: inout ShapeLayout, at place: Int) -> Bool {
        guard let offset = MemoryLayout<Self>.offset(of: \.value) else { return false }
        // Lowering depends on the value of a Boolean constant, so it is part of the shape.
        if Output.self == Bool.self || Output.self == Bool?.self {
            layout.bytes.append(place + offset)
            return true
        }
        guard let kind = ShapeLayout.Constant.Kind(Output.self) else { return false }
        layout.constants.append(ShapeLayout.Constant(kind: kind, place: place + offset))
        return true
    }
}
