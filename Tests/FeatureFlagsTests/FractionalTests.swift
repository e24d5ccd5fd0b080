import Testing

@testable import FeatureFlags

@Suite struct FractionalTests {
    private func hash(_ bytes: [UInt8], seed: UInt32 = 0) -> UInt32 {
        var hash = MurmurHash3(seed: seed)
        hash.combine(bytes)
        return hash.finalized()
    }

    /// The published test vectors of MurmurHash3_x86_32.
    @Test func murmurHashGivesThePublishedValues() {
        #expect(hash([], seed: 0) == 0)
        #expect(hash([], seed: 1) == 0x514E_28B7)
        #expect(hash([], seed: 0xFFFF_FFFF) == 0x81F1_6F39)
        #expect(hash([0xFF, 0xFF, 0xFF, 0xFF]) == 0x7629_3B50)
        #expect(hash([0x21, 0x43, 0x65, 0x87]) == 0xF55B_516B)
        #expect(hash([0x21, 0x43, 0x65, 0x87], seed: 0x5082_EDEE) == 0x2362_F9DE)
        #expect(hash([0x21, 0x43, 0x65]) == 0x7E4A_8634)
        #expect(hash([0x21, 0x43]) == 0xA0F7_B07A)
        #expect(hash([0x21]) == 0x7266_1CF4)
        #expect(hash([0, 0, 0, 0]) == 0x2362_F9DE)
        #expect(hash([0, 0, 0]) == 0x85F0_B427)
        #expect(hash([0, 0]) == 0x30F4_C306)
        #expect(hash([0]) == 0x514E_28B7)
        #expect(hash(Array("aaaa".utf8), seed: 0x9747_B28C) == 0x5A97_808A)
        #expect(hash(Array("Hello, world!".utf8), seed: 0x9747_B28C) == 0x2488_4CBA)
        #expect(hash(Array("ππππππππ".utf8), seed: 0x9747_B28C) == 0xD580_63C1)
        let fox = "The quick brown fox jumps over the lazy dog"
        #expect(hash(Array(fox.utf8), seed: 0x9747_B28C) == 0x2FA8_26CD)
    }

    /// Texts whose hashes are at the ends and the middle of the range, from flagd's conformance suite.
    static let preimages: [(String, UInt32)] = [
        ("ejOoVL", 0), ("bY9fO-", 1), ("SI7p-", 2_147_483_647), ("6LvT0", 2_147_483_648), ("ceQdGm", 4_294_967_295),
    ]

    @Test(arguments: preimages)
    func murmurHashMeetsTheBoundaries(text: String, expected: UInt32) {
        #expect(hash(Array(text.utf8)) == expected)
    }

    @Test(arguments: preimages)
    func theMiddleOfTheHashesIsTheMiddleOfTheWeights(text: String, expected: UInt32) throws {
        let half = try evaluate(
            #"{"fractional": [{"var": "targetingKey"}, ["lower", 50], ["upper", 50]]}"#,
            EvaluationContext(targetingKey: text)
        )
        #expect(half == (expected < 2_147_483_648 ? "lower" : "upper"))
        // With the greatest sum of weights, every second hash is a separate bucket.
        let ends = try evaluate(
            #"{"fractional": [{"var": "targetingKey"}, ["first", 1], ["rest", 2147483645], ["last", 1]]}"#,
            EvaluationContext(targetingKey: text)
        )
        #expect(ends == (expected <= 2 ? "first" : expected >= 4_294_967_293 ? "last" : "rest"))
    }

    @Test func hashingTwoTextsIsHashingThemJoined() {
        for split in 0...11 {
            let text = Array("hello world".utf8)
            var parts = MurmurHash3()
            parts.combine(Array(text[..<split]))
            parts.combine(Array(text[split...]))
            #expect(parts.finalized() == hash(text))
        }
    }

    /// The second generation of flagd's conformance suite. It joins the bucketing text with `cat`; here it is already joined.
    @Test(arguments: [
        ("fractional-flagjack", "hearts"), ("fractional-flagqueen", "spades"), ("fractional-flagten", "clubs"),
        ("fractional-flagnine", "diamonds"), ("fractional-flag3", "clubs"), ("shared-seedseven", "hearts"),
        ("shared-seedeight", "diamonds"), ("shared-seednine", "clubs"), ("shared-seedtwo", "spades"),
    ])
    func itChoosesAsFlagdDoes(bucketBy: String, expected: String) throws {
        let suits = #"["clubs", 25], ["diamonds", 25], ["hearts", 25], ["spades", 25]"#
        let context = EvaluationContext(attributes: ["by": .string(bucketBy)])
        #expect(try evaluate(#"{"fractional": [{"var": "by"}, \#(suits)]}"#, context) == .string(expected))
        #expect(try evaluate(#"{"fractional": ["\#(bucketBy)", \#(suits)]}"#) == .string(expected))
    }

    @Test func withoutABucketingTextItTakesTheFlagAndTheTargetingKey() throws {
        func choice(_ rule: String, _ user: String) throws -> FlagValue {
            try evaluate(rule, EvaluationContext(targetingKey: user), flagKey: "fractional-flag-shorthand")
        }
        for rule in [
            #"{"fractional": [["heads"], ["tails", 1]]}"#,
            #"{"fractional": [null, ["heads", 1], ["tails"]]}"#,
            #"{"fractional": [{"var": "missing"}, ["heads", null], ["tails"]]}"#,
        ] {
            #expect(try choice(rule, "jon@company.com") == "heads")
            #expect(try choice(rule, "jane@company.com") == "tails")
        }
    }

    @Test func oneEntryIsAlwaysChosen() throws {
        #expect(try evaluate(#"{"fractional": [["a", 1]]}"#, EvaluationContext(targetingKey: "x")) == "a")
        #expect(try evaluate(#"{"fractional": ["x", ["a", 7]]}"#) == "a")
    }

    @Test func variantsAndWeightsCanBeComputed() throws {
        let rule =
            #"{"fractional": [{"var": "k"}, [{"if": [{"==": [{"var": "tier"}, "p"]}, "p", "s"]}, 50], ["s", 50]]}"#
        let weights =
            #"{"fractional": [{"var": "k"}, ["red", {"if": [{"==": [{"var": "tier"}, "p"]}, 100, 0]}], ["blue", 10]]}"#
        for (user, tier, variant, color) in [
            ("jon@company.com", "p", "p", "red"), ("jon@company.com", "b", "s", "blue"), ("user1", "p", "s", "red"),
            ("user1", "b", "s", "blue"),
        ] {
            let context = EvaluationContext(attributes: ["k": .string(user), "tier": .string(tier)])
            #expect(try evaluate(rule, context) == .string(variant))
            #expect(try evaluate(weights, context) == .string(color))
        }
    }

    @Test func aVariantCanBeABooleanANumberOrNull() throws {
        let context = EvaluationContext(targetingKey: "x")
        #expect(try evaluate(#"{"fractional": [[false, 0], [true, 100]]}"#, context) == true)
        #expect(try evaluate(#"{"fractional": [[7, 1]]}"#, context) == 7)
        #expect(try evaluate(#"{"fractional": [[null, 1]]}"#, context) == .null)
        let snapshot = try makeSnapshot(targeting: #"{"if": [{"fractional": [[false, 1], [true, 0]]}, "a", "b"]}"#)
        #expect(snapshot.resolve("f", context: context).variant == "b")
    }

    @Test(arguments: [
        #"[]"#, #"["x"]"#, #"["x", "a"]"#, #"["x", []]"#, #"["x", [["a"], 1]]"#, #"["x", [{"p": 1, "q": 2}, 1]]"#,
        #"["x", ["a", 0], ["b", 0]]"#, #"["x", ["a", -1]]"#, #"["x", ["a", 1.5]]"#, #"["x", ["a", "1"]]"#,
        #"["x", ["a", true]]"#, #"["x", ["a", 2147483648]]"#, #"["x", ["a", 1e300]]"#,
        #"["x", ["a", 2147483647], ["b", 1]]"#, #"["x", ["a", 9223372036854775807]]"#, #"[5, ["a", 1]]"#,
        #"[true, ["a", 1]]"#, #""x""#, #"["x", ["a", 1], "b"]"#, #"["x", ["a", 1], ["b", "much"]]"#,
    ])
    func badInputGivesNull(arguments: String) throws {
        #expect(try evaluate(#"{"fractional": \#(arguments)}"#, EvaluationContext(targetingKey: "x")) == .null)
    }

    @Test(arguments: [nil, .null, .int(5), .list(["x"])] as [FlagValue?])
    func withoutATextAsTargetingKeyItGivesNull(key: FlagValue?) throws {
        var context = EvaluationContext()
        context.attributes["targetingKey"] = key
        #expect(try evaluate(#"{"fractional": [["a", 1]]}"#, context) == .null)
    }

    @Test func aNegativeWeightIsNone() throws {
        for user in 0..<200 {
            let choice = try evaluate(#"{"fractional": ["\#(user)", ["a", -50], ["b", 1], ["c", -1.0]]}"#)
            #expect(choice == "b")
        }
    }

    @Test func wholeWeightsMayBeWrittenWithAPoint() throws {
        #expect(try evaluate(#"{"fractional": ["6LvT0", ["a", 50.0], ["b", 5e1]]}"#) == "b")
    }

    /// Over 20,000 users, the share of a variant with probability p deviates by more than 5 standard deviations once in a million runs; the users are
    /// always
    /// the same.
    @Test(arguments: [1, 10, 25, 50, 90])
    func theSharesAreThoseOfTheWeights(percent: Int) throws {
        let snapshot = try makeSnapshot(targeting: #"{"fractional": [["a", \#(percent)], ["b", \#(100 - percent)]]}"#)
        let count = 20_000
        let chosen = (0..<count).count {
            snapshot.resolve("f", context: EvaluationContext(targetingKey: "user-\($0)")).variant == "a"
        }
        let probability = Double(percent) / 100
        let deviation = (Double(count) * probability * (1 - probability)).squareRoot()
        #expect(abs(Double(chosen) - Double(count) * probability) < 5 * deviation, "\(chosen)")
    }

    @Test func raisingThePercentageOnlyAddsUsers() throws {
        var before: Set<Int> = []
        for percent in stride(from: 0, through: 100, by: 5) {
            let snapshot = try makeSnapshot(
                targeting: #"{"fractional": [["a", \#(percent)], ["b", \#(100 - percent)]]}"#
            )
            let now = Set(
                (0..<500).filter {
                    snapshot.resolve("f", context: EvaluationContext(targetingKey: "user-\($0)")).variant == "a"
                }
            )
            #expect(now.isSuperset(of: before))
            before = now
        }
        #expect(before.count == 500)
    }
}
