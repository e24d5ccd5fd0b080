/// The operators that rules can call.
enum OperatorTable {
    private static let operators: [any RuleOperator.Type] = [
        VariableOperator.self,
        IfOperator.self,
        AndOperator.self,
        OrOperator.self,
        NotOperator.self,
        EqualOperator.self,
        NotEqualOperator.self,
        InOperator.self,
        FractionalOperator.self,
    ]

    private static let byName: [String: any RuleOperator.Type] = {
        var table: [String: any RuleOperator.Type] = [:]
        for type in operators {
            for name in type.names { table[name] = type }
        }
        return table
    }()

    static func type(named name: String) -> (any RuleOperator.Type)? { byName[name] }

    /// All names, sorted, for messages.
    static var names: [String] { byName.keys.sorted() }
}
