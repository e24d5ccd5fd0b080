import Testing

@testable import FeatureFlags

/// flagd's evaluation outcomes (`core/pkg/evaluator/json.go` and its decision on disabled flags), row by row.
@Suite struct OutcomeTests {
    private static let metadata: [String: FlagValue] = ["flagSetId": "set", "owner": "flag"]

    /// A flag `f` with string variants, and metadata on both levels.
    private func snapshot(_ members: String) throws -> FlagSnapshot {
        try makeSnapshot(
            """
            {"metadata": {"flagSetId": "set", "owner": "set"},
             "flags": {"f": {"metadata": {"owner": "flag"}, "variants": {"a": "A", "true": "T"}, \(members)}}}
            """
        )
    }

    private func check(
        _ members: String,
        _ value: String,
        _ variant: String?,
        _ reason: Reason,
        _ errorCode: FlagError.Code? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let details = try snapshot(members).string("f", default: "caller")
        #expect(details.flagKey == "f", sourceLocation: sourceLocation)
        #expect(details.value == value, sourceLocation: sourceLocation)
        #expect(details.variant == variant, sourceLocation: sourceLocation)
        #expect(details.reason == reason, sourceLocation: sourceLocation)
        #expect(details.errorCode == errorCode, sourceLocation: sourceLocation)
        #expect((details.errorMessage != nil) == (errorCode != nil), sourceLocation: sourceLocation)
        #expect(details.flagMetadata == Self.metadata, sourceLocation: sourceLocation)
    }

    @Test func anUnknownFlagIsNotFoundAndCarriesTheSetsMetadata() throws {
        let details = try snapshot(#""state": "ENABLED""#).string("other", default: "caller")
        #expect(details.value == "caller")
        #expect(details.variant == nil)
        #expect(details.reason == .error)
        #expect(details.errorCode == .flagNotFound)
        #expect(details.errorMessage == #"there is no flag "other" in test.json"#)
        #expect(details.flagMetadata == ["flagSetId": "set", "owner": "set"])
    }

    @Test func aDisabledFlagIsASuccessWithTheCallersDefault() throws {
        try check(#""state": "DISABLED", "defaultVariant": "a""#, "caller", nil, .disabled)
        try check(#""state": "DISABLED", "defaultVariant": "a", "targeting": {"if": ["a"]}"#, "caller", nil, .disabled)
    }

    @Test(arguments: ["", #", "targeting": {}"#, #", "targeting": null"#])
    func withoutTargetingTheDefaultVariantIsStatic(targeting: String) throws {
        try check(#""state": "ENABLED", "defaultVariant": "a""# + targeting, "A", "a", .static)
    }

    @Test(arguments: ["", #", "defaultVariant": null"#])
    func withoutTargetingAndDefaultVariantTheCallersDefaultIsServed(defaultVariant: String) throws {
        try check(#""state": "ENABLED""# + defaultVariant, "caller", nil, .default)
    }

    @Test func targetingThatGivesNullServesTheDefaultVariant() throws {
        try check(
            #""state": "ENABLED", "defaultVariant": "a", "targeting": {"var": "missing"}"#,
            "A",
            "a",
            .default
        )
    }

    @Test func targetingThatGivesNullWithoutDefaultVariantServesTheCallersDefault() throws {
        try check(#""state": "ENABLED", "targeting": {"var": "missing"}"#, "caller", nil, .default)
    }

    @Test func targetingThatNamesAVariantMatches() throws {
        try check(#""state": "ENABLED", "targeting": {"if": ["a"]}"#, "A", "a", .targetingMatch)
    }

    @Test func targetingThatGivesTrueNamesTheVariantTrue() throws {
        try check(#""state": "ENABLED", "targeting": {"!": false}"#, "T", "true", .targetingMatch)
    }

    @Test(arguments: [
        #"{"if": ["none"]}"#, #"{"!": true}"#, #"{"if": [1]}"#, #"{"if": [1.5]}"#, #"{"if": [["a"]]}"#,
        #"{"if": [{"x": 1, "y": 2}]}"#,
    ])
    func targetingThatGivesAnythingElseIsAGeneralError(targeting: String) throws {
        try check(
            #""state": "ENABLED", "defaultVariant": "a", "targeting": "# + targeting,
            "caller",
            nil,
            .error,
            .general
        )
    }

    @Test func anInvalidRuleIsAParseError() throws {
        try check(
            #""state": "ENABLED", "defaultVariant": "a", "targeting": {"iff": ["a"]}"#,
            "caller",
            nil,
            .error,
            .parseError
        )
    }

    @Test func aValueOfAnotherTypeIsATypeMismatch() throws {
        let details = try snapshot(#""state": "ENABLED", "defaultVariant": "a""#).boolean("f", default: true)
        #expect(details.value)
        #expect(details.variant == nil)
        #expect(details.reason == .error)
        #expect(details.errorCode == .typeMismatch)
        #expect(details.errorMessage == "the flag's value is of type string, and a boolean was asked for")
        #expect(details.flagMetadata == Self.metadata)
    }

    @Test func aDisabledFlagOfAnotherTypeIsNoTypeMismatch() throws {
        let details = try snapshot(#""state": "DISABLED""#).boolean("f", default: true)
        #expect(details.value)
        #expect(details.reason == .disabled)
        #expect(details.errorCode == nil)
    }

    @Test func anErrorMessageHoldsNothingOfTheContext() throws {
        let snapshot = try makeSnapshot(targeting: #"{"var": "secret"}"#)
        let resolution = snapshot.resolve("f", context: EvaluationContext(attributes: ["secret": "hunter2"]))
        #expect(resolution.errorCode == .general)
        #expect(resolution.errorMessage?.contains("hunter2") == false)
    }
}
