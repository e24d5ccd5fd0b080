import Testing

@testable import FeatureFlags

@Suite struct SemanticVersionTests {
    private func compare(_ left: String, _ comparison: String, _ right: String) throws -> FlagValue {
        let context = EvaluationContext(attributes: ["v": .string(left), "o": .string(comparison)])
        return try evaluate(#"{"sem_ver": [{"var": "v"}, {"var": "o"}, "\#(right)"]}"#, context)
    }

    /// The order of the specification's examples, and of versions beyond 64 bits.
    @Test func precedenceIsThatOfTheSpecification() throws {
        let ordered = [
            "0.0.0-0", "0.9.9", "1.0.0-0", "1.0.0-2", "1.0.0-10", "1.0.0-18446744073709551616", "1.0.0--",
            "1.0.0-alpha",
            "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",
            "1.0.1", "1.2.0", "1.10.0", "2.0.0", "18446744073709551615.0.0", "18446744073709551616.0.0",
        ]
        for (index, left) in ordered.enumerated() {
            for (other, right) in ordered.enumerated() {
                #expect(try compare(left, "<", right) == .bool(index < other), "\(left) < \(right)")
                #expect(try compare(left, "<=", right) == .bool(index <= other), "\(left) <= \(right)")
                #expect(try compare(left, ">", right) == .bool(index > other), "\(left) > \(right)")
                #expect(try compare(left, ">=", right) == .bool(index >= other), "\(left) >= \(right)")
                #expect(try compare(left, "=", right) == .bool(index == other), "\(left) = \(right)")
                #expect(try compare(left, "!=", right) == .bool(index != other), "\(left) != \(right)")
            }
        }
    }

    @Test(
        arguments: [
            ("1", "1.0.0"), ("1.0", "1.0.0"), ("v1.0.0", "1.0.0"), ("V1", "v1.0"), ("1.0.0+a.01", "1.0.0+b"),
            ("1.0.0-a+x", "1.0.0-a"),
        ]
    )
    func theseAreTheSameVersion(left: String, right: String) throws {
        #expect(try compare(left, "=", right) == true)
    }

    @Test func majorAndMinorVersionsCanBeComparedAlone() throws {
        #expect(try compare("3.1.4", "^", "3") == true)
        #expect(try compare("4.0.0", "^", "3.0.0") == false)
        #expect(try compare("3.1.4", "~", "3.1") == true)
        #expect(try compare("3.1.0-rc", "~", "3.1.9") == true)
        #expect(try compare("3.2.0", "~", "3.1") == false)
        #expect(try compare("4.1.0", "~", "3.1") == false)
    }

    @Test(
        arguments: [
            "", "v", "vv1", "a", "1.", "1..0", "1.0.", "1.0.0.0", "01.0.0", "1.00.0", "1.0.0-", "1.0.0-01",
            "1.0.0-a..b",
            "1.0.0+", "1-a", "1.0-a", "1.0+b", " 1.0.0", "1.0.0 ", "-1.0.0", "1.0.0-é", "1.0.0+a+b", "١.0.0",
        ]
    )
    func theseAreNoVersions(text: String) throws {
        #expect(try compare(text, "=", "1.0.0") == .null)
        #expect(try compare("1.0.0", "=", text) == .null)
    }

    @Test func badInputGivesNull() throws {
        #expect(try compare("1.0.0", "==", "1.0.0") == .null)
        for arguments in [
            #"[]"#, #"["1.0.0", "="]"#, #"["1.0.0", "=", "1.0.0", "x"]"#, #"[true, "=", "1.0.0"]"#, #""1.0.0""#,
            #"["1.0.0", 1, "1.0.0"]"#, #"["1.0.0", "=", null]"#, #"[["1.0.0"], "=", "1.0.0"]"#,
        ] {
            #expect(try evaluate(#"{"sem_ver": \#(arguments)}"#) == .null, "\(arguments)")
        }
    }

    @Test func numbersAreReadAsTheirTexts() throws {
        #expect(try evaluate(#"{"sem_ver": [2, "=", "2.0.0"]}"#) == true)
        #expect(try evaluate(#"{"sem_ver": [1.5, "=", "1.5"]}"#) == true)
        #expect(try evaluate(#"{"sem_ver": [-1, "=", "1"]}"#) == .null)
    }
}
