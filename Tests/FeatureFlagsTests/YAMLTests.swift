import Foundation
import Testing

@testable import FeatureFlags
@testable import FlagTools

@Suite struct YAMLTests {
    private func snapshot(_ yaml: String) throws -> FlagSnapshot {
        try FlagSnapshot(yaml: Data(yaml.utf8), source: "test.yaml", configuration: testConfiguration)
    }

    private func failure(_ yaml: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> FlagError {
        try #require(throws: FlagError.self, sourceLocation: sourceLocation) { _ = try snapshot(yaml) }
    }

    @Test func yamlSaysTheSameAsJSON() throws {
        let snapshot = try snapshot(
            """
            # flags of the test
            metadata: {flagSetId: set, version: 1.5}
            $evaluators:
              isAda: {"==": [{var: targetingKey}, ada]}
            flags:
              greeting:
                state: ENABLED
                variants: {hi: "hello", bye: 'bye'}
                defaultVariant: bye
                targeting:
                  if:
                    - $ref: isAda
                    - hi
                    - null
                metadata: {beta: true}
              count:
                state: ENABLED
                variants:
                  small: 1
                  large: 1e3
                  hex: 0x1F
                defaultVariant: hex
            """
        )
        #expect(snapshot.quarantined.isEmpty)
        #expect(snapshot.warnings.isEmpty)
        let ada = snapshot.string("greeting", default: "", context: EvaluationContext(targetingKey: "ada"))
        #expect(ada.value == "hello")
        #expect(ada.flagMetadata == ["flagSetId": "set", "version": 1.5, "beta": true])
        #expect(snapshot.string("greeting", default: "").value == "bye")
        #expect(snapshot.int("count", default: 0).value == 31)
    }

    @Test(
        arguments: [
            ("yes", "yes"), ("on", "on"), ("true", true), ("True", true), ("'true'", "true"), ("!!str true", "true"),
            ("null", .null), ("~", .null), ("", .null), ("1", 1), ("-1", -1), ("+1", 1), ("01", 1), ("0o17", 15),
            ("0x", "0x"), ("1.5", 1.5), (".5", 0.5), ("5.", 5), ("1e3", 1000.0), ("1_000", "1_000"), ("1:30", "1:30"),
            ("2026-01-01", "2026-01-01"), ("1.2.3", "1.2.3"), ("-", [.null]), ("[1, a]", [1, "a"]),
            ("Infinity", "Infinity"),
            ("-Infinity", "-Infinity"), ("0b11", "0b11"), ("0X1F", "0X1F"), ("0e1", 0.0),
            ("|\n    a\n    b\n", "a\nb\n"),
        ] as [(String, FlagValue)]
    )
    func scalarsAreThoseOfTheCoreSchema(text: String, expected: FlagValue) throws {
        let source = try SourceText(bytes: Array("v: \(text == "-" ? "\n  -" : text)".utf8), name: "test.yaml")
        let value = try YAMLReader.parse(source).flagValue.objectValue?["v"]
        #expect(value == expected)
    }

    @Test func anchorsAndMergeKeysAreFollowed() throws {
        let snapshot = try snapshot(
            """
            base: &base
              state: ENABLED
              variants: {a: A, b: B}
              defaultVariant: a
            flags:
              f: *base
              g:
                <<: *base
                defaultVariant: b
            """
        )
        #expect(snapshot.string("f", default: "").value == "A")
        #expect(snapshot.string("g", default: "").value == "B")
    }

    /// One such number made the whole file unreadable.
    @Test(arguments: [".nan", "-.inf", ".INF", "1e999"])
    func aNumberThatIsNoneQuarantinesItsFlagAlone(number: String) throws {
        let good = "{state: ENABLED, variants: {a: A}, defaultVariant: a}"
        let text =
            "metadata: {m: \(number)}\nflags:\n  bad: {state: ENABLED, variants: {a: \(number)}}\n  good: \(good)\n"
        let snapshot = try snapshot(text)
        #expect(snapshot.quarantined.keys.sorted() == ["bad"])
        #expect(snapshot.quarantined["bad"]?.location == FlagError.Location(file: "test.yaml", line: 3, column: 39))
        #expect(snapshot.string("good", default: "caller").value == "A")
        #expect(snapshot.metadata.isEmpty && snapshot.warnings.count == 1)
        let report = try FlagLinter().lint(Data(text.utf8), format: .yaml, source: "test.yaml")
        #expect(report.findings.map(\.rule) == [.metadata, .schema])
    }

    @Test func errorsHaveTheirPlaces() throws {
        #expect(try failure("flags:\n  f: [1,\n").location.line == 3)
        #expect(try failure("flags: {f: 1\n g: }}").description.hasPrefix("test.yaml:2:"))
        let twice = try failure("flags:\n  f: 1\n  f: 2\n")
        #expect(twice.message.contains(#"a key twice: "f""#))
        #expect(twice.location.line == 2)
        #expect(try failure("").message.contains("empty"))
        #expect(try failure("a: 1\n---\nb: 2\n").code == .parseError)
        #expect(try failure("flags: {[a]: 1}").message.contains("a key must be a text"))
        let quarantined = try snapshot("flags:\n  ä: {state: ON}\n  g: {state: ENABLED, variants: {ö: 1, b: x}}\n")
            .quarantined
        #expect(quarantined["ä"]?.location == FlagError.Location(file: "test.yaml", line: 2, column: 14))
        #expect(quarantined["g"]?.location == FlagError.Location(file: "test.yaml", line: 3, column: 43))
    }

    @Test func aSmallFileCannotStandForAnEndlessOne() throws {
        var bomb = "a0: &a0 [x, x]\n"
        for level in 1...30 { bomb += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
        #expect(try failure(bomb).message.contains("more than 16 aliases"))
        var keys = "a0: &a0 [x, x]\n"
        for level in 1...7 { keys += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
        #expect(try failure(keys + "? *a7\n: 1\n").message.contains("a key must be a text"))
    }

    /// 16 aliases are few, but each may repeat what earlier ones have repeated: 100 kB expanded to more than a million values, and took seconds to
    /// read, or a
    /// minute without optimization.
    @Test func whatAliasesRepeatIsCountedAndLimited() throws {
        let words = (0..<20_000).map { "k\($0)" }
        var list = "a0: &a0 [\(words.joined(separator: ","))]\n"
        for level in 1...4 {
            let alias = "*a\(level - 1)"
            list += "a\(level): &a\(level) [\(alias), \(alias), \(alias), \(alias)]\n"
        }
        var map = "a0: &a0 {\(words.map { $0 + ": 1" }.joined(separator: ", "))}\n"
        for level in 1...8 { map += "a\(level): &a\(level) {x: *a\(level - 1), y: *a\(level - 1)}\n" }
        var merge = "base: &b {\(words.map { $0 + ": 1" }.joined(separator: ", "))}\n"
        for number in 0..<15 { merge += "m\(number): {<<: *b}\n" }
        for text in [list, map, merge] {
            let meter = WorkMeter()
            let error = try WorkMeter.$current.withValue(meter) { try failure(text + "flags: {}\n") }
            #expect(error.message.contains("repeat more than 10000 values"))
            #expect(meter.total < 2 * text.utf8.count + 2 * FlagLimits.yamlRepeatedValues, "\(meter.total)")
        }
        // A flag file needs far less.
        let shared = (0..<15).map { "  f\($0): {<<: *base}\n" }.joined()
        let base = "base: &base {state: ENABLED, variants: {a: 1}, defaultVariant: a}\n"
        #expect(try snapshot(base + "flags:\n" + shared).int("f14", default: 0).value == 1)
    }

    /// The parser library's message for this named one of its C functions.
    @Test(arguments: ["[", "{a: ", "- ", "? "])
    func deepNestingIsAnErrorValue(opening: String) throws {
        for depth in [300, 5000, 100_000] {
            let error = try failure(String(repeating: opening, count: depth))
            #expect(error.code == .parseError)
            #expect(!error.message.contains("yaml_"))
            if depth == 5000 { #expect(error.message.contains("too deep")) }
        }
    }
}
