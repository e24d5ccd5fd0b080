import Foundation

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
