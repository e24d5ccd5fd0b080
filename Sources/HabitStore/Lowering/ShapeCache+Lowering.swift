import Foundation

extension ShapeCache {
    /// The first of the numbers that mark constants; one that no query contains.
    private static let firstMark = 0x5_EED0_2F6B_7153

    /// The shape of a predicate and its constants; nil when it has none, and has to be lowered.
    func shape<Model: PersistentModel>(
        of predicate: Predicate<Model>,
        schema: Schema,
        entity: Int
    ) -> (shape: PredicateShape, values: [Value])? {
        func open<Expression: PredicateExpression>(
            _ expression: Expression
        ) -> (shape: PredicateShape, values: [Value])? where Expression.Output == Bool {
            shape(of: expression, predicate.variable.key, schema, entity)
        }
        return open(predicate.expression)
    }

    private func shape<Expression: PredicateExpression>(
        of expression: Expression,
        _ variable: PredicateExpressions.VariableID,
        _ schema: Schema,
        _ entity: Int
    ) -> (shape: PredicateShape, values: [Value])? {
        let type = ObjectIdentifier(Expression.self)
        let known = kinds.withLock { $0[type] } ?? learn(Expression.self, type)
        guard let layout = known.layout else { return nil }
        return withUnsafePointer(to: expression) { pointer in
            let base = UnsafeRawPointer(pointer)
            guard layout.hasOnly(variable, at: base), let values = layout.values(at: base) else { return nil }
            for shape in known.shapes where shape.matches(layout, at: base) { return (shape, values) }
            guard !known.isFull else { return nil }
            let made = make(expression, layout, values, variable, schema, entity)
            keep(made, type)
            return made.map { ($0, values) }
        }
    }

    /// Makes the shape of an expression; nil when it holds constants where a shape has no places.
    private func make<Expression: PredicateExpression>(
        _ expression: Expression,
        _ layout: ShapeLayout,
        _ values: [Value],
        _ variable: PredicateExpressions.VariableID,
        _ schema: Schema,
        _ entity: Int
    ) -> PredicateShape? {
        func bound(_ expression: Expression) -> BoundExpression? {
            let lowered = PredicateLowering.lower(expression, variable, schema: schema)
            return lowered.isWhole ? try? lowered.expression.bound(to: schema, entity: entity) : nil
        }
        func changed(_ number: (Int) -> Int) -> (expression: Expression, values: [Value])? {
            var copy = expression
            let values = withUnsafeMutablePointer(to: &copy) { pointer in
                let base = UnsafeMutableRawPointer(pointer)
                for (index, constant) in layout.constants.enumerated() {
                    constant.kind.store(number(index), at: base + constant.place)
                }
                return layout.values(at: base)
            }
            return values.map { (copy, $0) }
        }
        guard let marked = changed({ Self.firstMark + $0 }), let markedFilter = bound(marked.expression),
            let template = FilterTemplate(markedFilter, of: marked.values), let zeros = changed({ _ in 0 })
        else { return nil }
        let checks = [(expression, values), marked, zeros]
        guard checks.allSatisfy({ bound($0.0) == template.filled($0.1) }) else { return nil }
        return withUnsafePointer(to: expression) {
            PredicateShape(layout, at: UnsafeRawPointer($0), template: template, marks: marked.values)
        }
    }
}
