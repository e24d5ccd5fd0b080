import Testing

@testable import FeatureFlags

@Suite struct TypedValueTests {
    private func snapshot(_ value: String) throws -> FlagSnapshot {
        try makeSnapshot(
            #"{"flags": {"f": {"state": "ENABLED", "variants": {"v": \#(value)}, "defaultVariant": "v"}}}"#
        )
    }

    @Test func everyTypeIsGivenAsItself() throws {
        #expect(try snapshot("true").boolean("f", default: false).value)
        #expect(try snapshot(#""text""#).string("f", default: "").value == "text")
        #expect(try snapshot("-7").int("f", default: 0).value == -7)
        #expect(try snapshot("0.25").double("f", default: 0).value == 0.25)
        #expect(
            try snapshot(#"{"a": [1, null, {"b": "c"}]}"#).object("f", default: [:]).value
                == ["a": [1, nil, ["b": "c"]]]
        )
    }

    @Test func resolveGivesTheValueUntyped() throws {
        let resolution = try snapshot("9223372036854775807").resolve("f")
        #expect(resolution.value == .int(.max))
        #expect(resolution.variant == "v")
        #expect(resolution.reason == .static)
    }

    /// From flagd's conformance suite: no type is accepted for another.
    @Test func noTypeStandsInForAnother() throws {
        let boolean = try snapshot("true")
        #expect(boolean.string("f", default: "d").errorCode == .typeMismatch)
        #expect(boolean.int("f", default: 5).errorCode == .typeMismatch)
        #expect(boolean.double("f", default: 0.5).errorCode == .typeMismatch)
        #expect(boolean.object("f", default: [:]).errorCode == .typeMismatch)
        let text = try snapshot(#""1""#)
        #expect(text.boolean("f", default: true).errorCode == .typeMismatch)
        #expect(text.int("f", default: 5).errorCode == .typeMismatch)
        #expect(text.double("f", default: 0.5).errorCode == .typeMismatch)
        let number = try snapshot("1")
        #expect(number.boolean("f", default: true).errorCode == .typeMismatch)
        #expect(number.string("f", default: "d").errorCode == .typeMismatch)
        #expect(number.object("f", default: [:]).errorCode == .typeMismatch)
        #expect(try snapshot("{}").string("f", default: "d").errorCode == .typeMismatch)
    }

    @Test func anIntegerIsNeverRounded() throws {
        #expect(try snapshot("3.0").int("f", default: 0).value == 3)
        #expect(try snapshot("1e2").int("f", default: 0).value == 100)
        #expect(try snapshot("-0.0").int("f", default: 5).value == 0)
        #expect(try snapshot("9007199254740991.0").int("f", default: 0).value == 9_007_199_254_740_991)
        for value in ["3.14", "9007199254740992.0", "1e300", "-9007199254740992.0", "1e-9"] {
            let details = try snapshot(value).int("f", default: 5)
            #expect(details.value == 5, "\(value)")
            #expect(details.errorCode == .typeMismatch, "\(value)")
        }
    }

    @Test func aFloatingPointNumberIsNeverRounded() throws {
        #expect(try snapshot("3").double("f", default: 0).value == 3)
        #expect(try snapshot("9007199254740991").double("f", default: 0).value == 9_007_199_254_740_991)
        for value in ["9007199254740993", "9223372036854775807", "-9007199254740993", "-9223372036854775808"] {
            let details = try snapshot(value).double("f", default: 0.5)
            #expect(details.value == 0.5, "\(value)")
            #expect(details.errorCode == .typeMismatch, "\(value)")
        }
    }
}
