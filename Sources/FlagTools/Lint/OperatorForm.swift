import FeatureFlags

/// The form of an operator: the number of its arguments, and whether the official schema requires brackets.
///
/// The numbers are those of flagd's `targeting.json` (flagd-schemas). Where the schema sets no maximum but further arguments are ignored, such as the
/// third argument of `-`, the maximum is the number of arguments that are used.
struct OperatorForm {
    let minimum: Int
    /// Nil for any number.
    let maximum: Int?
    /// Whether the schema refuses a single argument without brackets.
    let needsList: Bool

    private init(_ minimum: Int, _ maximum: Int?, needsList: Bool = true) {
        self.minimum = minimum
        self.maximum = maximum
        self.needsList = needsList
    }

    /// Why a number of arguments is wrong; nil if it is not.
    func message(_ name: String, count: Int) -> String? {
        if count >= minimum, maximum.map({ count <= $0 }) ?? true { return nil }
        let found = count == 0 ? "none stand here" : count == 1 ? "one stands here" : "\(count) stand here"
        return "\(quoted(name)) takes \(expected), and \(found)"
    }

    private var expected: String {
        func arguments(_ count: Int) -> String { count == 1 ? "1 argument" : "\(count) arguments" }
        guard let maximum else { return "at least \(arguments(minimum))" }
        if minimum == maximum { return "exactly \(arguments(minimum))" }
        return "\(minimum) \(maximum == minimum + 1 ? "or" : "to") \(maximum) arguments"
    }

    /// The form of an operator; nil for `fractional` and `missing`, which have their own checks.
    static func form(of name: String) -> OperatorForm? { forms[name] }

    private static let forms: [String: OperatorForm] = {
        var forms: [String: OperatorForm] = [
            "var": OperatorForm(1, 2, needsList: false), "!": OperatorForm(1, 1, needsList: false),
            "!!": OperatorForm(1, 1, needsList: false), "log": OperatorForm(1, 1, needsList: false),
            "?:": OperatorForm(3, 3), "reduce": OperatorForm(3, 3), "sem_ver": OperatorForm(3, 3),
            "-": OperatorForm(1, 2), "*": OperatorForm(2, nil),
        ]
        for name in ["==", "!=", "===", "!==", ">", ">=", "%", "/", "in", "map", "filter", "all", "some", "none"] {
            forms[name] = OperatorForm(2, 2)
        }
        for name in ["missing_some", "starts_with", "ends_with"] { forms[name] = OperatorForm(2, 2) }
        for name in ["<", "<=", "substr"] { forms[name] = OperatorForm(2, 3) }
        for name in ["if", "and", "or", "+", "max", "min", "merge", "cat"] { forms[name] = OperatorForm(1, nil) }
        return forms
    }()
}
