import Foundation
import Testing

@testable import FeatureFlags
@testable import FlagTools

/// The greatest and the least numbers in every numeric place of a flag file, in the context of rules, and in rules that calculate: the result is an
/// error
/// value, a quarantined flag or an answer, and never a crash.
struct ExtremeNumberTests {
    static let extremes = [
        "0", "-1", "-0.0", "1", "2147483647", "2147483648", "9223372036854775807", "-9223372036854775808",
        "18446744073709551615", "1e300", "-1e300", "1e999", "1e-999", "\"nan\"", "\"\"",
        String(repeating: "9", count: 5_000),
    ]

    private static let values: [FlagValue] = [
        .int(.max), .int(.min), .int(0), .double(1e300), .double(-1e300), .double(.infinity), .double(.nan),
        .string("nan"), .string(""), .string(String(repeating: "9", count: 5_000)),
    ]

    private static let contexts = values.map { value in
        EvaluationContext(
            targetingKey: "ada",
            attributes: ["appVersion": value, "build": value, "osVersion": value, "entries": value]
        )
    }

    private func tryAll(_ text: String) throws {
        let report = try FlagLinter().lint(Data(text.utf8), source: "n.json")
        #expect(report.findings.allSatisfy { !$0.message.isEmpty })
        do throws(FlagError) {
            let snapshot = try FlagSnapshot(json: Data(text.utf8), source: "n.json", configuration: testConfiguration)
            for context in Self.contexts { _ = snapshot.resolveAll(context: context) }
        } catch {
            #expect(!error.message.isEmpty)
        }
    }

    @Test func noNumberOfAnExampleEndsAnything() throws {
        let folder = repositoryRoot.appendingPathComponent("Flags/examples")
        // A number after a character that can precede one.
        let number = try Regex("[:\\[, ](-?[0-9]+(?:\\.[0-9]+)?)(?=[,}\\]\\n ])")
        var tried = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
            let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
            for match in text.matches(of: number) {
                let range = try #require(match.output[1].range)
                for extreme in Self.extremes {
                    try tryAll(text.replacingCharacters(in: range, with: extreme))
                    tried += 1
                }
            }
        }
        #expect(tried > 100)
    }

    @Test(arguments: [
        "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "max", "min", "substr", "var", "in", "sem_ver",
    ])
    func noNumberOfAnOperatorEndsAnything(_ name: String) throws {
        for first in Self.extremes {
            for second in ["0", "1e300", "-9223372036854775808", "\"\""] {
                try tryAll(
                    """
                    {"flags": {"f": {"state": "ENABLED", "variants": {"a": \(first), "b": \(second)}, "defaultVariant": "a",
                      "targeting": {"if": [{"\(name)": [\(first), \(second), {"var": "build"}]}, "a", "b"]}}}}
                    """
                )
            }
        }
    }
}
