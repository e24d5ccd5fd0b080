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
