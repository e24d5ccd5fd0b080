/// An operator of the rule language. Its row in ``OperatorTable`` is what the compiler, evaluations and the linter know of it.
package struct RuleOperator: Sendable {
    /// Evaluates the arguments that the operator needs, and then itself. Bad input gives null, false or NaN, as the operator's
    /// definition says; the only way to fail is to exceed the limits of an evaluation.
    typealias Body = @Sendable ([Rule], inout Evaluation) throws(EvaluationFault) -> FlagValue

    /// The types of JSON, by the names of ``FlagValue/typeName``.
    package enum ValueType: String, Sendable {
        case null, boolean, number, string, array, object
    }

    /// What the second argument reads if it is evaluated for each element of the first.
    package enum ElementScope: Sendable {
        case element
        /// The element and the accumulator of `reduce`.
        case reduction
    }

    package let name: String
    /// How many arguments it takes, by flagd's `targeting.json` (flagd-schemas); nil for any number. Where the schema sets no
    /// maximum but further arguments are ignored, such as the third one of `-`, only those that are used count.
    package let arity: ClosedRange<Int>?
    /// Whether flagd's schema takes a single argument without brackets.
    package let takesBareArgument: Bool
    /// The possible types of the result; nil if they depend on the arguments.
    package let results: Set<ValueType>?
    /// Whether the result depends only on the arguments.
    package let isPure: Bool
    private let elementScope: ElementScope?
    /// Makes the body of one use of the operator, and reads what stands in the file for it once.
    let prepare: @Sendable (RuleCall) -> Body

    fileprivate init(
        _ name: String,
        _ arity: ClosedRange<Int>?,
        takesBareArgument: Bool = false,
        gives results: Set<ValueType>? = nil,
        isPure: Bool = true,
        for elementScope: ElementScope? = nil,
        prepare: @escaping @Sendable (RuleCall) -> Body
    ) {
        (self.name, self.arity, self.takesBareArgument, self.results) = (name, arity, takesBareArgument, results)
        (self.isPure, self.elementScope, self.prepare) = (isPure && elementScope == nil, elementScope, prepare)
    }

    fileprivate init(
        _ name: String,
        _ arity: ClosedRange<Int>?,
        takesBareArgument: Bool = false,
        gives results: Set<ValueType>? = nil,
        isPure: Bool = true,
        for scope: ElementScope? = nil,
        _ body: @escaping Body
    ) {
        self.init(name, arity, takesBareArgument: takesBareArgument, gives: results, isPure: isPure, for: scope) { _ in
            body
        }
    }

    /// The value that an argument reads instead of the context; nil for the context.
    package func elementScope(ofArgument index: Int) -> ElementScope? { index == 1 ? elementScope : nil }
}

/// One use of an operator in a rule.
struct RuleCall {
    /// A single argument without brackets is a list of one.
    let arguments: [Rule]
    /// How percentages are computed where the rule asks for them.
    let fractional: FractionalGeneration
}

/// The operators that rules can call. A new operator is a row here, and a function in an `…Operators` file.
package enum OperatorTable {
    private static let rows: [RuleOperator] = [
        RuleOperator("var", 1...2, takesBareArgument: true, isPure: false, prepare: ContextOperators.variable),
        RuleOperator("missing", nil, gives: [.array], isPure: false, ContextOperators.missing),
        RuleOperator("missing_some", 2...2, gives: [.array], isPure: false, ContextOperators.missingSome),

        RuleOperator("if", 1...Int.max, LogicOperators.condition),
        RuleOperator("?:", 3...3, LogicOperators.condition),
        RuleOperator("and", 1...Int.max, LogicOperators.first(thatIs: false)),
        RuleOperator("or", 1...Int.max, LogicOperators.first(thatIs: true)),
        RuleOperator("!", 1...1, takesBareArgument: true, gives: [.boolean], LogicOperators.truth(is: false)),
        RuleOperator("!!", 1...1, takesBareArgument: true, gives: [.boolean], LogicOperators.truth(is: true)),
        RuleOperator("log", 1...1, takesBareArgument: true, isPure: false, LogicOperators.log),

        RuleOperator("==", 2...2, gives: [.boolean], ComparisonOperators.looseEquality(is: true)),
        RuleOperator("!=", 2...2, gives: [.boolean], ComparisonOperators.looseEquality(is: false)),
        RuleOperator("===", 2...2, gives: [.boolean], ComparisonOperators.strictEquality(is: true)),
        RuleOperator("!==", 2...2, gives: [.boolean], ComparisonOperators.strictEquality(is: false)),
        RuleOperator("<", 2...3, gives: [.boolean], ComparisonOperators.less(orEqual: false)),
        RuleOperator("<=", 2...3, gives: [.boolean], ComparisonOperators.less(orEqual: true)),
        RuleOperator(">", 2...2, gives: [.boolean], ComparisonOperators.greater(orEqual: false)),
        RuleOperator(">=", 2...2, gives: [.boolean], ComparisonOperators.greater(orEqual: true)),
        RuleOperator("sem_ver", 3...3, gives: [.boolean, .null], prepare: ComparisonOperators.versions),

        RuleOperator("+", 1...Int.max, gives: [.number, .null], NumericOperators.sum),
        RuleOperator("-", 1...2, gives: [.number, .null], NumericOperators.difference),
        RuleOperator("*", 2...Int.max, gives: [.number, .null], NumericOperators.product),
        RuleOperator("/", 2...2, gives: [.number, .null], NumericOperators.division(isRemainder: false)),
        RuleOperator("%", 2...2, gives: [.number, .null], NumericOperators.division(isRemainder: true)),
        RuleOperator("max", 1...Int.max, gives: [.number, .null], NumericOperators.extremum(isMaximum: true)),
        RuleOperator("min", 1...Int.max, gives: [.number, .null], NumericOperators.extremum(isMaximum: false)),

        RuleOperator("cat", 1...Int.max, gives: [.string], TextOperators.concatenation),
        RuleOperator("substr", 2...3, gives: [.string], TextOperators.part),
        RuleOperator("starts_with", 2...2, gives: [.boolean, .null], TextOperators.hasAffix(isPrefix: true)),
        RuleOperator("ends_with", 2...2, gives: [.boolean, .null], TextOperators.hasAffix(isPrefix: false)),
        RuleOperator("in", 2...2, gives: [.boolean], prepare: TextOperators.containment),

        RuleOperator("merge", 1...Int.max, gives: [.array], ListOperators.merge),
        RuleOperator("map", 2...2, gives: [.array], for: .element, ListOperators.map),
        RuleOperator("filter", 2...2, gives: [.array], for: .element, ListOperators.filter),
        RuleOperator("reduce", 3...3, for: .reduction, ListOperators.reduce),
        RuleOperator("all", 2...2, gives: [.boolean], for: .element, ListOperators.all),
        RuleOperator("some", 2...2, gives: [.boolean], for: .element, ListOperators.some),
        RuleOperator("none", 2...2, gives: [.boolean], for: .element, ListOperators.none),

        RuleOperator("fractional", nil, isPure: false, prepare: FractionalOperator.prepared),
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0) })

    /// The names of all operators.
    package static var names: [String] { byName.keys.sorted() }

    /// The operator with a name; nil if there is none.
    package static func row(_ name: String) -> RuleOperator? { byName[name] }
}
