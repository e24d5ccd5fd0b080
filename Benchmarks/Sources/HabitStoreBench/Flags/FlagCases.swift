import FeatureFlags
import Foundation

/// The cases to evaluate: single JsonLogic rules, and flags in a file.
enum FlagCases {
    /// A rule and its result for ``data``.
    struct RuleCase {
        let json: String
        let expected: FlagValue

        init(_ json: String, _ expected: FlagValue) {
            self.json = json
            self.expected = expected
        }
    }

    /// All kinds of operators, and some combinations.
    static let rules = [
        RuleCase(#"{"==": [{"var": "app.platform"}, "ios"]}"#, true),
        RuleCase(#"{"===": [{"var": "app.build"}, 107]}"#, true),
        RuleCase(#"{"!=": [{"var": "temp"}, "100"]}"#, false),
        RuleCase(#"{"!==": [{"var": "temp"}, "100"]}"#, true),
        RuleCase(#"{"<": [90, {"var": "temp"}, 110]}"#, true),
        RuleCase(#"{">=": [{"var": "app.build"}, 100]}"#, true),
        RuleCase(#"{"and": [{"<": [{"var": "temp"}, 110]}, {"==": [{"var": "pie.filling"}, "apple"]}]}"#, true),
        RuleCase(#"{"or": [{"var": "nothing"}, {"var": "temp"}]}"#, 100),
        RuleCase(
            #"{"if": [{"==": [{"var": "app.platform"}, "android"]}, "a", {"in": ["beta", {"var": "groups"}]}, "b"]}"#,
            "b"
        ),
        RuleCase(#"{"!": {"var": "nothing"}}"#, true),
        RuleCase(#"{"!!": [[]]}"#, false),
        RuleCase(#"{"in": [{"var": "pie.filling"}, ["apple", "cherry"]]}"#, true),
        RuleCase(#"{"in": ["body", {"var": "email"}]}"#, true),
        RuleCase(#"{"cat": ["user ", {"var": "app.build"}]}"#, "user 107"),
        RuleCase(#"{"substr": [{"var": "email"}, -11]}"#, "example.org"),
        RuleCase(#"{"+": [{"var": "temp"}, 1, 2]}"#, 103),
        RuleCase(#"{"-": [{"var": "temp"}, 1]}"#, 99),
        RuleCase(#"{"*": [{"var": "temp"}, 2]}"#, 200),
        RuleCase(#"{"/": [{"var": "temp"}, 4]}"#, 25),
        RuleCase(#"{"%": [{"var": "app.build"}, 10]}"#, 7),
        RuleCase(#"{"max": [1, {"var": "temp"}, 3]}"#, 100),
        RuleCase(#"{"min": [1, {"var": "temp"}, 3]}"#, 1),
        RuleCase(#"{"missing": ["email", "phone"]}"#, ["phone"]),
        RuleCase(#"{"missing_some": [1, ["email", "phone"]]}"#, []),
        RuleCase(#"{"map": [{"var": "integers"}, {"*": [{"var": ""}, 2]}]}"#, [2, 4, 6]),
        RuleCase(#"{"filter": [{"var": "integers"}, {">": [{"var": ""}, 1]}]}"#, [2, 3]),
        RuleCase(#"{"reduce": [{"var": "cart"}, {"+": [{"var": "accumulator"}, {"var": "current.qty"}]}, 0]}"#, 3),
        RuleCase(#"{"all": [{"var": "cart"}, {">=": [{"var": "qty"}, 1]}]}"#, true),
        RuleCase(#"{"none": [{"var": "cart"}, {">": [{"var": "qty"}, 2]}]}"#, true),
        RuleCase(#"{"some": [{"var": "groups"}, {"==": [{"var": ""}, "beta"]}]}"#, true),
        RuleCase(#"{"merge": [[1], {"var": "integers"}]}"#, [1, 1, 2, 3]),
        RuleCase(#"{"starts_with": [{"var": "email"}, "some"]}"#, true),
        RuleCase(#"{"ends_with": [{"var": "email"}, "@example.org"]}"#, true),
        RuleCase(#"{"sem_ver": [{"var": "app.version"}, ">=", "2.3.0"]}"#, true),
    ]

    /// The data that the rules read.
    static let data = FlagValue.object([
        "email": "somebody@example.org", "app": ["version": "2.4.1", "platform": "ios", "build": 107],
        "groups": ["alpha", "beta"], "temp": 100, "pie": ["filling": "apple"], "integers": [1, 2, 3],
        "cart": [["name": "apple", "qty": 1], ["name": "brownie", "qty": 2]],
    ])

    /// The context of the flags; its texts are too long to be stored inline.
    static let context = EvaluationContext(
        targetingKey: "user-4711-with-a-long-id",
        attributes: data.objectValue ?? [:]
    )

    /// The kinds of targeting in `Flags/examples`. Each gives the variant `yes` for ``context``.
    private static let targeting = [
        #"{"if": [{"in": [{"var": "targetingKey"}, ["ada", "berta", "user-4711-with-a-long-id"]]}, "yes", "no"]}"#,
        #"{"if": [{"ends_with": [{"var": "email"}, "@example.org"]}, "yes", "no"]}"#,
        #"{"if": [{"sem_ver": [{"var": "app.version"}, ">=", "2.3.0"]}, "yes", "no"]}"#,
        #"""
        {"if": [{"and": [{"==": [{"var": "app.platform"}, "ios"]}, {">": [{"var": "app.build"}, 100]}]}, "yes", "no"]}
        """#,
        #"{"if": [{"<": [1600000000, {"var": "$flagd.timestamp"}, 1800000000]}, "yes", "no"]}"#,
        #"{"if": [{"some": [{"var": "groups"}, {"==": [{"var": ""}, "beta"]}]}, "yes", "no"]}"#,
        #"{"fractional": [["yes", 100], ["no", 0]]}"#,
    ]

    /// The keys of the flags with targeting.
    static let targetedKeys = targeting.indices.map { "targeted-\($0)" }

    /// The flag file with a changing number in it.
    static func file(number: Int) -> String {
        let flags =
            zip(targetedKeys, targeting).map { key, rule in #""\#(key)": {\#(switched), "targeting": \#(rule)}"# } + [
                #""static": {\#(switched)}"#,
                #""disabled": {"state": "DISABLED", "variants": {"yes": true}, "defaultVariant": "yes"}"#,
                #""kill": {"state": "ENABLED", "variants": {"yes": true, "no": false}, "defaultVariant": "no"}"#,
                #"""
                "text": {"state": "ENABLED", "variants": {"a": "a value that is longer than a small text"},
                  "defaultVariant": "a"}
                """#,
                #""fractional": {\#(switched), "targeting": {"fractional": [["yes", 40], ["no", 60]]}}"#,
                #""number": {"state": "ENABLED", "variants": {"a": \#(number)}, "defaultVariant": "a"}"#,
            ]
        return #"{"flags": {\#(flags.joined(separator: ",\n"))}}"#
    }

    private static let switched =
        #""state": "ENABLED", "variants": {"yes": true, "no": false}, "defaultVariant": "yes", "metadata": {"owner": "x"}"#
}
