/// An operator of the rule language. Its row in ``OperatorTable`` is what the compiler, evaluations and the linter know of it.
package struct RuleOperator: Sendable {
    /// Evaluates the arguments that the operator needs, and then itself. Bad input gives null, false or NaN, as the operator's
    /// definition says; the only way to fail is to exceed the limits of an evaluation.
    typealias Body = @Sendable ([Rule], inout Evaluation) throws(EvaluationFault) -> FlagValue

    /// The types of JSON, by the names of ``FlagValue/typeName``.
    package enum ValueType: String, Sendable {
        case null, boolean, number, string, array, object
    }

    /// How many arguments an operator takes: those of flagd's `targeting.json` (flagd-schemas). Where the schema sets no
    /// maximum but further arguments are ignored, such as the third one of `-`, only those that are used count.
    package struct Arity: Sendable {
        package let minimum: Int
        /// Nil for any number.
        package let maximum: Int?

        static func exactly(_ count: Int) -> Arity { Arity(minimum: count, maximum: count) }
        static func range(_ counts: ClosedRange<Int>) -> Arity {
            Arity(minimum: counts.lowerBound, maximum: counts.upperBound)
        }
        static func atLeast(_ count: Int) -> Arity { Arity(minimum: count, maximum: nil) }
    }

    /// What the second argument reads if it is evaluated for each element of the first.
    package enum ElementScope: Sendable {
        case element
        /// The element and the accumulator of `reduce`.
        case reduction
    }

    package let name: String
    /// Nil for any number of arguments.
    package let arity: Arity?
    /// Whether flagd's schema takes a single argument without brackets.
    package let takesBareArgument: Bool
    /// The possible types of the result; nil if they depend on the arguments.
    package let results: Set<ValueType>?
    /// Whether the result depends only on the arguments.
    package let isPure: Bool
    /// Nil for an operator that does not go through a list.
    package let elementScope: ElementScope?
    /// Reads once, when a rule is compiled, what stands in the file.
    let prepare: @Sendable (RuleCall) -> Body

    fileprivate init(
        _ name: String,
        _ arity: Arity?,
        takesBareArgument: Bool = false,
        gives results: Set<ValueType>? = nil,
        isPure: Bool = true,
        elementScope: ElementScope? = nil,
        prepare: @escaping @Sendable (RuleCall) -> Body
    ) {
        (self.name, self.arity, self.takesBareArgument, self.results) = (name, arity, takesBareArgument, results)
        (self.isPure, self.elementScope, self.prepare) = (isPure, elementScope, prepare)
    }

    fileprivate init(
        _ name: String,
        _ arity: Arity?,
        takesBareArgument: Bool = false,
        gives results: Set<ValueType>? = nil,
        isPure: Bool = true,
        elementScope: ElementScope? = nil,
        _ body: @escaping Body
    ) {
        self.init(
            name,
            arity,
            takesBareArgument: takesBareArgument,
            gives: results,
            isPure: isPure,
            elementScope: elementScope,
            prepare: { _ in body }
        )
    }

    /// What an argument reads in place of the context; nil if that is the context.
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
        RuleOperator("var", .range(1...2), takesBareArgument: true, isPure: false, prepare: ContextOperators.variable),
        RuleOperator("missing", nil, gives: [.array], isPure: false, ContextOperators.missing),
        RuleOperator("missing_some", .exactly(2), gives: [.array], isPure: false, ContextOperators.missingSome),

        RuleOperator("if", .atLeast(1), LogicOperators.condition),
        RuleOperator("?:", .exactly(3), LogicOperators.condition),
        RuleOperator("and", .atLeast(1), LogicOperators.first(thatIs: false)),
        RuleOperator("or", .atLeast(1), LogicOperators.first(thatIs: true)),
        RuleOperator("!", .exactly(1), takesBareArgument: true, gives: [.boolean], LogicOperators.truth(is: false)),
        RuleOperator("!!", .exactly(1), takesBareArgument: true, gives: [.boolean], LogicOperators.truth(is: true)),
        RuleOperator("log", .exactly(1), takesBareArgument: true, isPure: false, LogicOperators.log),

        RuleOperator("==", .exactly(2), gives: [.boolean], ComparisonOperators.looseEquality(is: true)),
        RuleOperator("!=", .exactly(2), gives: [.boolean], ComparisonOperators.looseEquality(is: false)),
        RuleOperator("===", .exactly(2), gives: [.boolean], ComparisonOperators.strictEquality(is: true)),
        RuleOperator("!==", .exactly(2), gives: [.boolean], ComparisonOperators.strictEquality(is: false)),
        RuleOperator("<", .range(2...3), gives: [.boolean], ComparisonOperators.less(orEqual: false)),
        RuleOperator("<=", .range(2...3), gives: [.boolean], ComparisonOperators.less(orEqual: true)),
        RuleOperator(">", .exactly(2), gives: [.boolean], ComparisonOperators.greater(orEqual: false)),
        RuleOperator(">=", .exactly(2), gives: [.boolean], ComparisonOperators.greater(orEqual: true)),
        RuleOperator(
            "sem_ver",
            .exactly(3),
            gives: [.boolean, .null],
            prepare: ComparisonOperators.semanticVersions
        ),

        RuleOperator("+", .atLeast(1), gives: [.number, .null], NumericOperators.sum),
        RuleOperator("-", .range(1...2), gives: [.number, .null], NumericOperators.difference),
        RuleOperator("*", .atLeast(2), gives: [.number, .null], NumericOperators.product),
        RuleOperator("/", .exactly(2), gives: [.number, .null], NumericOperators.division(isRemainder: false)),
        RuleOperator("%", .exactly(2), gives: [.number, .null], NumericOperators.division(isRemainder: true)),
        RuleOperator("max", .atLeast(1), gives: [.number, .null], NumericOperators.extremum(isMaximum: true)),
        RuleOperator("min", .atLeast(1), gives: [.number, .null], NumericOperators.extremum(isMaximum: false)),

        RuleOperator("cat", .atLeast(1), gives: [.string], TextOperators.concatenation),
        RuleOperator("substr", .range(2...3), gives: [.string], TextOperators.part),
        RuleOperator("starts_with", .exactly(2), gives: [.boolean, .null], TextOperators.hasAffix(isPrefix: true)),
        RuleOperator("ends_with", .exactly(2), gives: [.boolean, .null], TextOperators.hasAffix(isPrefix: false)),
        RuleOperator("in", .exactly(2), gives: [.boolean], prepare: TextOperators.containment),

        RuleOperator("merge", .atLeast(1), gives: [.array], ListOperators.merge),
        RuleOperator(
            "map",
            .exactly(2),
            gives: [.array],
            isPure: false,
            elementScope: .element,
            ListOperators.map
        ),
        RuleOperator(
            "filter",
            .exactly(2),
            gives: [.array],
            isPure: false,
            elementScope: .element,
            ListOperators.filter
        ),
        RuleOperator(
            "reduce",
            .exactly(3),
            isPure: false,
            elementScope: .reduction,
            ListOperators.reduce
        ),
        quantifier("all", decidedBy: false, as: false, ofNothing: false),
        quantifier("some", decidedBy: true, as: true, ofNothing: false),
        quantifier("none", decidedBy: true, as: false, ofNothing: true),

        RuleOperator("fractional", nil, isPure: false, prepare: FractionalOperator.prepared),
    ]

    private static func quantifier(
        _ name: String,
        decidedBy truth: Bool,
        as result: Bool,
        ofNothing: Bool
    ) -> RuleOperator {
        RuleOperator(
            name,
            .exactly(2),
            gives: [.boolean],
            isPure: false,
            elementScope: .element,
            ListOperators.quantifier(decidedBy: truth, as: result, ofNothing: ofNothing)
        )
    }

    private static let byName = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0) })

    /// The names of all operators.
    package static var names: [String] { byName.keys.sorted() }

    /// The operator with a name; nil if there is none.
    package static func row(_ name: String) -> RuleOperator? { byName[name] }
}
