import Foundation
import HabitTracker
import Testing

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreTesting

@Suite("Compiled filters")
struct CompiledFilterTests {
    /// More evaluations for a long run: `COMPILED_FILTER_EVALUATIONS=1000000`.
    private static let evaluations =
        ProcessInfo.processInfo.environment["COMPILED_FILTER_EVALUATIONS"].flatMap { Int($0) } ?? 24_000

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func compiledFiltersMeanWhatTheEvaluatorSays(_ seed: UInt64) throws {
        let run = CompiledFilterRun(seed: seed)
        let report = try run.run(evaluations: Self.evaluations / 4)
        #expect(report.disagreements.isEmpty, "seed \(seed): \(report.disagreements.prefix(3).joined(separator: "\n"))")
        // A run in which no filter holds, or none fails, would prove nothing.
        #expect(report.held > report.evaluations / 10, "seed \(seed): \(report)")
        #expect(report.held < report.evaluations * 9 / 10, "seed \(seed): \(report)")
        #expect(report.failed > 10, "seed \(seed): \(report)")
    }

    @Test(arguments: [
        ("e\u{301}", "e"), ("xe\u{301}", "x"), ("ex\u{323}", "e"), ("x\u{323}e", "e"), ("x\u{323}\u{301}", "\u{301}"),
        ("\r\n", "\n"), ("\r\n", "\r"), ("a\r\nb", "a\r\n"), ("a\r\nb", "\r\nb"), ("a\r\nb", "a\r"), ("\r\n\n", "\n"),
        ("\u{1f1e9}\u{1f1ea}", "\u{1f1e9}"), ("\u{1f1e9}\u{1f1ea}\u{1f1ea}", "\u{1f1ea}"),
        ("a\u{1f1ea}\u{1f1e9}\u{1f1ea}", "\u{1f1e9}\u{1f1ea}"), ("\u{1f1ea}\u{1f1e9}\u{1f1ea}", "\u{1f1ea}"),
        ("\u{1f469}\u{200d}\u{1f680}", "\u{1f469}"), ("\u{1f469}\u{200d}\u{1f680}", "\u{1f680}"),
        ("\u{1f469}\u{200d}\u{1f680}", "\u{200d}"), ("a\u{200d}b", "b"), ("a\u{200d}b", "a"),
        ("\u{1f44d}\u{1f3fd}", "\u{1f44d}"), ("\u{a9}\u{200d}\u{a9}", "\u{a9}"), ("\u{a9}\u{a9}", "\u{a9}"),
        ("\u{1100}\u{1161}", "\u{1100}"), ("\u{ac00}\u{11a8}", "\u{ac00}"), ("\u{1100}x", "\u{1100}"),
        ("\u{ac01}", "\u{ac00}"), ("\u{915}\u{94d}\u{937}", "\u{937}"), ("\u{915}\u{94d}\u{937}", "\u{915}"),
        ("\u{600}1", "1"), ("\u{600}\n", "\n"), ("a\0b", "\0"), ("a\0b", "b"), ("\0", "\0"), ("a\0b", "a\0b"),
        ("", ""), ("a", ""), ("\u{301}", ""), ("", "a"), ("stra\u{df}e", "\u{df}"), ("\u{e9}a", "a"), ("a\u{e9}", "a"),
        ("\u{ad}a", "a"), ("a\u{ad}", "a"), ("\u{85}\u{301}", "\u{85}"), ("\u{fe0f}", "\u{fe0f}"), ("1\u{fe0f}", "1"),
    ])
    func textIsComparedByCharactersAsSwiftDoes(_ text: String, _ part: String) throws {
        let (text, part) = (text.normalizedToNFC(), part.normalizedToNFC())
        let expected = (
            text.containsCharacters(part), text.starts(with: part), text.reversed().starts(with: part.reversed())
        )
        let tests: [(FilterExpression.TextTest, Bool)] = [
            (.contains, expected.0), (.beginsWith, expected.1), (.endsWith, expected.2),
        ]
        for (test, result) in tests {
            let filter = FilterExpression.text(test, .attribute(AttributePath("name")), .literal(.string(part)))
            #expect(try RecordsForFilters.matches(filter, tagNamed: text) == result, "\(test.rawValue)")
        }
        let length = FilterExpression.length(.attribute(AttributePath("name")))
        for number in 0...3 {
            let filter = FilterExpression.compare(.equal, length, .literal(.int(Int64(number))))
            #expect(
                try RecordsForFilters.matches(filter, tagNamed: text) == (text.count == number),
                "LENGTH == \(number)"
            )
        }
    }

    /// Bytes decide about Characters, or leave it open; for ASCII and Latin letters they always decide.
    @Test func bytesNeverContradictCharacters() {
        var generator = SeededGenerator(seed: 20_261_121)
        var decided = 0
        for _ in 0..<20_000 {
            let text = CompiledFilterRun.text(&generator).normalizedToNFC()
            let part = CompiledFilterRun.text(&generator, atMost: 2).normalizedToNFC()
            let answers = answers(text, part)
            let isPlain = (text + part).unicodeScalars.allSatisfy { $0.value < 0x300 }
            if isPlain || answers.contains != nil { decided += 1 }
            #expect(!isPlain || answers.contains != nil && answers.length != nil)
            #expect(
                answers.contains ?? text.containsCharacters(part) == text.containsCharacters(part),
                "\(text), \(part)"
            )
            #expect(answers.begins ?? text.starts(with: part) == text.starts(with: part), "\(text), \(part)")
            let ends = text.reversed().starts(with: part.reversed())
            #expect(answers.ends ?? ends == ends, "\(text), \(part)")
            #expect(answers.length ?? text.count == text.count, "\(text)")
        }
        #expect(decided > 5_000)
    }

    @Test func countsStopOnceTheyAreDecidedUnlessOneOfThemMayFail() throws {
        let records = try RecordsForFilters(HabitSchema.current, seed: 7)
        let entries = records.identifiers(ofEntity: "Entry")
        let habit = try #require(records.owner(ofMost: "entries"))
        #expect(entries.count > 3)
        let any = FilterExpression.some(
            CollectionPath("entries"),
            variable: 1,
            .compare(.notEqual, .attribute(AttributePath("id", of: RecordPath(variable: 1))), .literal(.uuid(UUID())))
        )
        #expect(try records.followed(by: any, entity: "Habit", habit) == 1)
        let all = FilterExpression.count(CollectionPath("entries"), variable: 1, .always)
        #expect(try records.followed(by: .compare(.greater, all, .literal(.int(1))), entity: "Habit", habit) == 0)
        let overflow = FilterExpression.compare(
            .greater,
            .arithmetic(
                .divide,
                .literal(.int(1)),
                .length(.attribute(AttributePath("note", of: RecordPath(variable: 1))))
            ),
            .literal(.int(5))
        )
        let failing = FilterExpression.compare(
            .lessOrEqual,
            .count(CollectionPath("entries"), variable: 1, .or([overflow, .always])),
            .literal(.int(0))
        )
        let followed = try? records.followed(by: failing, entity: "Habit", habit)
        #expect(followed.map { $0 > 1 } ?? true)
    }

    @Test func aRecordThatManyReferToIsReadOnceUnlessItMayChange() throws {
        let records = try RecordsForFilters(HabitSchema.current, seed: 8)
        let filter = FilterExpression.and([
            .compare(.notEqual, .attribute(AttributePath("name", of: RecordPath(hops: ["habit"]))), .literal(.null)),
            .compare(
                .less,
                .attribute(AttributePath("streak", of: RecordPath(hops: ["habit"]))),
                .literal(.int(1_000))
            ),
        ])
        let habit = try #require(records.owner(ofMost: "entries"))
        let entries = try records.identifiers(entity: 1, attribute: 4, referringTo: habit, limit: nil)
        for mayChange in [false, true] {
            records.followed = 0
            let compiled = CompiledFilter(
                try filter.bound(to: records.schema, entity: 1),
                entity: 1,
                schema: records.schema,
                records: records,
                recordsMayChange: mayChange
            )
            for entry in entries {
                _ = try records.withRow(entity: 1, id: entry) { try compiled.matches(&$0) }
            }
            #expect(records.followed == (mayChange ? entries.count : 1))
        }
    }

    private func answers(
        _ text: String,
        _ part: String
    ) -> (contains: Bool?, begins: Bool?, ends: Bool?, length: Int?) {
        Array(text.utf8).withUnsafeBytes { text in
            Array(part.utf8).withUnsafeBytes { part in
                (
                    ByteText.contains(text, part), ByteText.begins(text, with: part), ByteText.ends(text, with: part),
                    ByteText.length(text)
                )
            }
        }
    }
}
