import Foundation
import Testing

@testable import HabitStoreRollout

/// Each reason that can alert an operator has an entry in the runbook.
struct RunbookTests {
    /// Whether to rewrite the article: run this suite with `HABITSTORE_RUNBOOK=1`.
    private static let isRewritten = ProcessInfo.processInfo.environment["HABITSTORE_RUNBOOK"] != nil
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func eachReasonHasOneEntry() throws {
        let kinds = Runbook.entries.map(\.kind)
        #expect(Set(kinds).count == kinds.count)
        for reason in EvidenceSample.reasons { #expect(Runbook.entry(reason.kind)?.kind == reason.kind) }
        for kind in GateReason.Kind.allCases { #expect(Runbook.entry(kind.rawValue)?.kind == kind.rawValue) }
        for halt in Runbook.Halt.allCases { #expect(Runbook.entry(halt.rawValue)?.kind == halt.rawValue) }
        #expect(Runbook.entry("fullMoon") == nil)
    }

    /// Errors of single calls, for which no user waits: only the caller gets them, and they move no user.
    private static let callers: Set<String> = [
        "uniqueViolation", "danglingReference", "deleteDenied", "unknownEntity", "unknownAttribute", "invalidQuery",
        "evaluationFailed", "transactionEnded", "closed",
    ]

    @Test func eachCodeOfAnErrorHasAnEntryUnlessNobodyWaitsByIt() throws {
        let path = Self.root.appendingPathComponent("Sources/HabitStore/HabitStoreError.swift")
        let source = try String(contentsOf: path, encoding: .utf8)
        let codes = source.matches(of: /static let \w+ = Self\(rawValue: "(\w+)"\)/).map { String($0.1) }
        try #require(codes.count > 25)
        for code in codes {
            let isCovered = Runbook.entry(code) != nil
            #expect(isCovered != Self.callers.contains(code), "\(code)")
        }
        #expect(Self.callers.isSubset(of: codes))
    }

    @Test(arguments: Runbook.entries.map(\.kind))
    func anEntrySaysWhatToDoInWholeSentences(kind: String) throws {
        let entry = try #require(Runbook.entry(kind))
        for text in [entry.symptom, entry.meaning, entry.check] {
            #expect(text.hasSuffix("."), "\(entry.kind): \(text)")
            #expect(!text.contains("\n"))
            #expect(text.count { $0 == "`" }.isMultiple(of: 2), "\(entry.kind): \(text)")
        }
        #expect(entry.command.hasPrefix("habitstore "))
    }

    /// The article was forgotten when the list changed, as happens to hand-written tables.
    @Test func theArticleIsWhatTheListMakes() throws {
        let path = Self.root.appendingPathComponent("Sources/HabitStoreRollout/Documentation.docc/Runbook.md")
        if Self.isRewritten { try Data(Runbook.markdown.utf8).write(to: path) }
        let text = try String(contentsOf: path, encoding: .utf8)
        #expect(text == Runbook.markdown, "run the tests with HABITSTORE_RUNBOOK=1 to rewrite the article")
    }
}
