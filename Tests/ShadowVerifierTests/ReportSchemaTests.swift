import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import ShadowVerifier

/// The published schema matches the reports.
struct ReportSchemaTests {
    private static let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("schemas/verification-report.schema.json").path

    private func mistakes(_ report: some Encodable) throws -> [String] {
        try JSONSchemaValidator(path: Self.path).mistakes(in: JSONEncoder().encode(report))
    }

    @Test(arguments: VerificationReport.Verdict.allCases)
    func aReportOfEveryVerdictIsValid(verdict: VerificationReport.Verdict) throws {
        let report = try SampleReport.report(verdict)
        #expect(report.verdict == verdict)
        #expect(try mistakes(report) == [])
    }

    @Test func aReportWithEverythingInItIsValid() throws {
        let report = try SampleReport.everything()
        #expect(!report.anomalies.isEmpty && !report.queries.isEmpty && !report.ignoreRules.isEmpty)
        #expect(Set(report.differences.map(\.kind)).isSuperset(of: [.attribute, .missingInB, .count, .queryError]))
        #expect(try mistakes(report) == [])
    }

    @Test func theSchemaKnowsEveryKindOfDifference() throws {
        var report = try SampleReport.report(.mismatch)
        for kind in StoreDifference.Kind.allCases {
            report.differences = [StoreDifference(kind, "it differs")]
            #expect(try mistakes(report) == [], "\(kind)")
        }
    }

    /// A schema that accepts everything describes nothing.
    @Test func whatIsNoReportIsInvalid() throws {
        let match = try SampleReport.report(.match)
        var changed = match
        changed.differenceCount = 1
        #expect(try mistakes(changed) != [])
        changed = match
        changed.verdict = .ignored
        #expect(try mistakes(changed) != [])
        changed = match
        changed.verdict = .error
        #expect(try mistakes(changed) != [])
        changed = match
        changed.formatVersion = 2
        #expect(try mistakes(changed) != [])
        changed = try SampleReport.report(.mismatch)
        changed.differences[0].differenceID = "elsewhere"
        #expect(try mistakes(changed) != [])
        #expect(try mistakes(["verdict": "match"]) != [])
        #expect(try mistakes([String]()) != [])
    }

    @Test func theValidatorRefusesAKeywordThatItDoesNotKnow() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("schema-\(UUID().uuidString).json")
        try Data(#"{"properties": {"a": {"maximum": 3}}}"#.utf8).write(to: file)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: file) } }
        let validator = try JSONSchemaValidator(path: file.path)
        #expect(throws: (any Error).self) { _ = try validator.mistakes(in: Data(#"{"a": 4}"#.utf8)) }
    }
}
