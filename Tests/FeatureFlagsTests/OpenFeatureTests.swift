import Testing

@testable import FeatureFlags

/// The evaluator answers like a provider of OpenFeature's SDK for Swift: value, variant, reason, error and metadata.
struct OpenFeatureTests {
    private func provider() throws -> OpenFeatureProvider {
        OpenFeatureProvider(
            try makeSnapshot(
                """
                {"metadata": {"flagSetId": "app"}, "flags": {
                  "welcome": {
                    "state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off",
                    "targeting": {"if": [{"==": [{"var": "targetingKey"}, "alice"]}, "on", null]},
                    "metadata": {"version": 7}
                  },
                  "color": {"state": "ENABLED", "variants": {"red": "#f00"}, "defaultVariant": "red"},
                  "count": {"state": "ENABLED", "variants": {"few": 3, "some": 2.5}, "defaultVariant": "few"},
                  "ratio": {"state": "ENABLED", "variants": {"some": 2.5}, "defaultVariant": "some"},
                  "theme": {"state": "ENABLED", "variants": {"dark": {"ink": "white"}}, "defaultVariant": "dark"},
                  "gone": {"state": "DISABLED", "variants": {"on": true}, "defaultVariant": "on"}
                }}
                """
            )
        )
    }

    @Test func eachTypeIsEvaluatedWithItsDetails() throws {
        let provider = try provider()
        let alice = EvaluationContext(targetingKey: "alice")
        #expect(
            provider.getBooleanEvaluation(key: "welcome", defaultValue: false, context: alice)
                == OpenFeatureEvaluation(
                    value: true,
                    flagMetadata: ["flagSetId": "app", "version": 7],
                    variant: "on",
                    reason: "TARGETING_MATCH"
                )
        )
        let nobody = provider.getBooleanEvaluation(key: "welcome", defaultValue: true, context: nil)
        #expect(!nobody.value && nobody.variant == "off" && nobody.reason == "DEFAULT")
        #expect(provider.getStringEvaluation(key: "color", defaultValue: "", context: nil).value == "#f00")
        #expect(provider.getIntegerEvaluation(key: "count", defaultValue: 0, context: nil).value == 3)
        #expect(provider.getDoubleEvaluation(key: "ratio", defaultValue: 0, context: nil).value == 2.5)
        let theme = provider.getObjectEvaluation(key: "theme", defaultValue: .null, context: nil)
        #expect(theme.value == .object(["ink": "white"]) && theme.reason == "STATIC")
    }

    @Test func anErrorIsTheDefaultWithACode() throws {
        let provider = try provider()
        let missing = provider.getStringEvaluation(key: "colour", defaultValue: "blue", context: nil)
        #expect(missing.value == "blue" && missing.variant == nil && missing.reason == "ERROR")
        #expect(missing.errorCode == .flagNotFound && missing.errorMessage?.contains("colour") == true)
        #expect(
            provider.getBooleanEvaluation(key: "color", defaultValue: true, context: nil).errorCode == .typeMismatch
        )
        #expect(
            provider.getObjectEvaluation(key: "color", defaultValue: .null, context: nil).errorCode == .typeMismatch
        )
        let gone = provider.getBooleanEvaluation(key: "gone", defaultValue: true, context: nil)
        #expect(gone.value && gone.reason == "DISABLED" && gone.errorCode == nil)
    }

    /// The raw values are those of the SDK's `ErrorCode`, so that an app can convert one into the other.
    @Test func errorCodesAreTheOnesOfTheSDK() {
        let names = [
            "PROVIDER_NOT_READY", "FLAG_NOT_FOUND", "PARSE_ERROR", "TYPE_MISMATCH", "TARGETING_KEY_MISSING",
            "INVALID_CONTEXT", "GENERAL", "PROVIDER_FATAL",
        ]
        #expect(OpenFeatureErrorCode.allCases.map(\.code.rawValue) == names)
        #expect(OpenFeatureErrorCode.allCases.map(\.rawValue) == Array(0..<8))
        #expect(OpenFeatureErrorCode.allCases.map { OpenFeatureErrorCode($0.code) } == OpenFeatureErrorCode.allCases)
        #expect(OpenFeatureErrorCode(.fileNotFound) == .general)
    }

    @Test func anEvaluationIsAResolutionAgain() throws {
        let provider = try provider()
        for key in ["welcome", "colour", "gone", "color"] {
            let evaluation = provider.getBooleanEvaluation(key: key, defaultValue: false, context: nil)
            let resolution = evaluation.resolution(default: false) { .bool($0) }
            #expect(
                OpenFeatureEvaluation(EvaluationDetails(flagKey: key, value: evaluation.value, resolution: resolution))
                    == evaluation
            )
        }
    }

    @Test(arguments: [
        ("STATIC", Reason.static), ("staticReason", .static), ("defaultReason", .default),
        ("targetingMatch", .targetingMatch),
        ("SPLIT", .split), ("stale", .stale), ("OF_THEIR_OWN", Reason(rawValue: "OF_THEIR_OWN")),
    ])
    func reasonsAreReadAsTheSpecificationAndTheSDKSpellThem(_ text: String, _ reason: Reason) {
        let evaluation = OpenFeatureEvaluation(value: "x", variant: "v", reason: text)
        #expect(evaluation.resolution(default: "") { .string($0) }.reason == reason)
    }

    @Test func theCallersDefaultIsNotTheFlagsValue() {
        let served = OpenFeatureEvaluation(value: "", reason: "DEFAULT")
        #expect(served.resolution(default: "") { .string($0) }.value == nil)
        #expect(OpenFeatureEvaluation(value: "x").resolution(default: "") { .string($0) }.value == .string("x"))
        let failed = OpenFeatureEvaluation(value: "x", variant: "v", reason: "ERROR").resolution(default: "") {
            .string($0)
        }
        #expect(failed.value == nil && failed.errorCode == .general)
    }
}
