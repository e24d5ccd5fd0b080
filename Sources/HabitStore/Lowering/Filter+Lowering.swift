import Foundation

extension Filter {
    /// The filter as one expression, which can be printed, kept in a file and compared.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` when a predicate in it holds a construct that has no form there.
    public func expression(in schema: Schema) throws -> FilterExpression {
        let lowered = LoweredFilter(self, schema: schema, evaluatesPredicates: false)
        guard lowered.isWhole else {
            throw HabitStoreError(
                .unsupported,
                "a predicate of this filter can only be evaluated: something in it has no form as an expression",
                at: .init(entity: Model.entity.name)
            )
        }
        return lowered.expression
    }
}

extension FilterExpression {
    /// The expression that means the same as a predicate.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` when the predicate holds a construct that has no form here.
    public init<Model: PersistentModel>(_ predicate: Predicate<Model>, schema: Schema) throws {
        self = try Filter.predicate(predicate).expression(in: schema)
    }
}
