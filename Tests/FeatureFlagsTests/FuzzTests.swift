import Foundation
import HabitStoreTesting
import Testing

@testable import FeatureFlags

/// Damaged flag files: nothing crashes, and every result is well-formed.
@Suite struct FuzzTests {
    private static let seedDocument = #"""
        {"$schema": "x", "metadata": {"flagSetId": "s", "version": 1.5e0, "ok": true},
         "flags": {
          "a": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off",
                "targeting": {"if": [{"in": [{"var": "targetingKey"}, ["ada", "\u00e9\ud83d\ude00"]]}, "on",
                  {"and": [{"!": [{"==": [{"var": ["app.v", 3]}, 4]}]}, {"or": [{"!=": [1, "1"]}, null]}]}, "off",
                  {"fractional": [{"var": "x"}, ["on", 10], ["off", {"if": [true, 90, 0]}]]}]}},
          "b": {"state": "DISABLED", "variants": {"x": {"k": [1, -2, 3.25, "t\n"]}}, "defaultVariant": null},
          "c": {"state": "ENABLED", "variants": {"one": 1, "two": 2.5}, "defaultVariant": "one", "metadata": {"m": 7},
                "targeting": {"fractional": [["one"], ["two", 3]]}}}}
        """#

    private func checkEvaluations(of snapshot: FlagSnapshot) {
        let contexts = [
            EvaluationContext(),
            EvaluationContext(targetingKey: "ada", attributes: ["x": "y", "app": ["v": 4], "on": [1, nil, [:]]]),
        ]
        for key in snapshot.keys + ["a", "b", "c", "none"] {
            for context in contexts {
                let resolution = snapshot.resolve(key, context: context)
                #expect((resolution.value == nil) == (resolution.variant == nil))
                #expect((resolution.errorCode != nil) == (resolution.reason == .error))
                #expect((resolution.errorMessage != nil) == (resolution.errorCode != nil))
                let details = snapshot.string(key, default: "caller", context: context)
                #expect(details.variant != nil || details.value == "caller")
            }
        }
    }

    @Test func damagedFilesNeverCrashAndGiveWellFormedOutcomes() throws {
        let seed = SeededGenerator.seedForThisRun()
        var generator = SeededGenerator(seed: seed)
        let original = Array(Self.seedDocument.utf8)
        var refused = 0
        var loaded = 0
        for _ in 0..<4000 {
            let bytes = FileMutation.mutate(original, &generator)
            do throws(FlagError) {
                let snapshot = try FlagSnapshot(json: Data(bytes), source: "fuzz")
                loaded += 1
                checkEvaluations(of: snapshot)
                for error in snapshot.quarantined.values { #expect(error.location.line != nil) }
            } catch {
                refused += 1
                #expect(error.code == .parseError, "FLAGS_TEST_SEED=\(seed)")
                #expect((error.location.line ?? 0) > 0 && (error.location.column ?? 0) > 0, "FLAGS_TEST_SEED=\(seed)")
            }
        }
        // Both cases must occur, or the mutations test nothing.
        #expect(refused > 400 && loaded > 150, "refused \(refused), loaded \(loaded), FLAGS_TEST_SEED=\(seed)")
    }

    /// Whether the text contains an exponent of three digits: an inserted digit can make one of a harmless number.
    private static func hasLargeNumber(_ text: String) -> Bool {
        text.range(of: "[eE][+]?[0-9]{3}", options: .regularExpression) != nil
    }

    /// Foundation reads the same standard, so whatever one accepts the other must accept too, with the same meaning. Excluded are the cases that the
    /// standard
    /// leaves to a parser (duplicate keys, lone surrogates, large numbers, byte order marks), and the comma before a closing bracket, which
    /// Foundation accepts
    /// in violation of the standard.
    @Test func whatIsJSONIsTheSameAsForFoundation() throws {
        let seed = SeededGenerator.seedForThisRun()
        var generator = SeededGenerator(seed: seed)
        let original = Array(Self.seedDocument.utf8)
        var accepted = 0
        var refused = 0
        for _ in 0..<2000 {
            let bytes = FileMutation.mutate(original, &generator)
            let text = String(decoding: bytes, as: UTF8.self)
            let foundation = try? JSONDecoder().decode(DecodedValue.self, from: Data(bytes)).value
            var warnings = FlagWarningList()
            let own: FlagValue?
            do throws(FlagError) {
                own = try SourceText(bytes: bytes, name: "fuzz").json(warnings: &warnings).flagValue
            } catch {
                if error.message.contains("a comma before the closing bracket") { continue }
                own = nil
            }
            guard warnings.warnings.isEmpty, !text.contains("\u{FEFF}"), !Self.hasLargeNumber(text) else { continue }
            switch (own, foundation) {
            case (let own?, let foundation?):
                #expect(own.means(foundation), "FLAGS_TEST_SEED=\(seed) \(text)")
                accepted += 1
            case (nil, nil):
                refused += 1
            default:
                Issue.record("one parser refuses this: FLAGS_TEST_SEED=\(seed) \(text)")
            }
        }
        #expect(accepted > 100 && refused > 100, "accepted \(accepted), refused \(refused), FLAGS_TEST_SEED=\(seed)")
    }
}

/// A value as Foundation's decoder returns it.
private struct DecodedValue: Decodable {
    let value: FlagValue

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            value = .null
        } else if let bool = try? container.decode(Bool.self) {
            value = .bool(bool)
        } else if let int = try? container.decode(Int64.self) {
            value = .int(int)
        } else if let double = try? container.decode(Double.self) {
            value = .double(double)
        } else if let string = try? container.decode(String.self) {
            value = .string(string)
        } else if let list = try? container.decode([DecodedValue].self) {
            value = .list(list.map(\.value))
        } else {
            value = .object(try container.decode([String: DecodedValue].self).mapValues(\.value))
        }
    }
}

extension FlagValue {
    /// Whether the values are equal; `1` equals `1.0`.
    fileprivate func means(_ other: FlagValue) -> Bool {
        switch (self, other) {
        case (.list(let left), .list(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.means($1) }
        case (.object(let left), .object(let right)):
            left.count == right.count && left.allSatisfy { key, value in right[key].map { value.means($0) } ?? false }
        default:
            isStrictlyEqual(to: other)
        }
    }
}
