/// The operators that rules can call.
package enum OperatorTable {
    private static let operators: [any RuleOperator.Type] = [
        VariableOperator.self,
        MissingOperator.self,
        MissingSomeOperator.self,
        IfOperator.self,
        AndOperator.self,
        OrOperator.self,
        NotOperator.self,
        DoubleNotOperator.self,
        EqualOperator.self,
        StrictEqualOperator.self,
        GreaterOperator.self,
        LessOperator.self,
        ExtremumOperator.self,
        AddOperator.self,
        SubtractOperator.self,
        MultiplyOperator.self,
        DivideOperator.self,
        MapOperator.self,
        FilterOperator.self,
        ReduceOperator.self,
        QuantifierOperator.self,
        MergeOperator.self,
        InOperator.self,
        ConcatenateOperator.self,
        SubstringOperator.self,
        LogOperator.self,
        FractionalOperator.self,
        SemanticVersionOperator.self,
        AffixOperator.self,
    ]

    private static let byName: [String: any RuleOperator.Type] = {
        var table: [String: any RuleOperator.Type] = [:]
        for type in operators {
            for name in type.names { table[name] = type }
        }
        return table
    }()

    /// The names of all operators.
    package static var names: [String] { byName.keys.sorted() }

    /// Whether an operator has the name.
    package static func has(_ name: String) -> Bool { byName[name] != nil }

    static func type(named name: String) -> (any RuleOperator.Type)? { byName[name] }
}
