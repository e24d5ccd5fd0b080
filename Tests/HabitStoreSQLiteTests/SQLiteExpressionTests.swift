import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@_spi(Engines) @testable import HabitStoreSQLite

@Suite("SQLite: filters as SQL")
struct SQLiteExpressionTests {
    /// A filter, and the SQL condition that narrows it; nil for none.
    struct Case: Sendable, CustomTestStringConvertible {
        let entity: String
        let filter: String
        let sql: String?
        let isExact: Bool

        init(_ entity: String, _ filter: String, _ sql: String?, exact: Bool = true) {
            self.entity = entity
            self.filter = filter
            self.sql = sql
            isExact = exact
        }

        var testDescription: String { "\(entity): \(filter)" }
    }

    static let cases = [
        Case("Habit", "streak >= 7", #"t0."streak" >= ?1"#),
        Case("Habit", "7 <= streak", #"?1 <= t0."streak""#),
        Case("Habit", "isArchived", #"t0."isArchived" = 1"#),
        Case("Habit", "NOT isArchived", #"NOT (t0."isArchived" = 1)"#),
        Case("Habit", #"name == "Run""#, #"t0."name" = ?1"#),
        Case("Habit", "category == nil", #"t0."category" IS NULL"#),
        Case("Habit", "category != nil", #"NOT (t0."category" IS NULL)"#),
        Case("Habit", "category < nil", "0"),
        Case("Habit", #"category == "a""#, #"t0."category" = ?1"#),
        Case("Habit", #"category != "a""#, #"t0."category" IS NOT ?1"#),
        Case("Habit", #"NOT (category == "a")"#, #"NOT (t0."category" IS ?1)"#),
        Case("Habit", "target > 2", #"t0."target" > ?1"#),
        Case("Habit", "NOT (target > 2)", #"NOT (COALESCE(t0."target" > ?1, 0))"#),
        Case("Habit", "category == unit", #"t0."category" IS t0."unit""#),
        Case("Habit", #"category IN ["a", nil]"#, #"(t0."category" IS NULL OR t0."category" IN (?1))"#),
        Case("Habit", #"NOT (category IN ["a", "b"])"#, #"NOT (COALESCE(t0."category" IN (?1, ?2), 0))"#),
        Case("Habit", "streak IN []", "0"),
        Case("Habit", "streak == 1 OR streak == 2", #"(t0."streak" = ?1 OR t0."streak" = ?2)"#),
        Case("Habit", #"name CONTAINS "un""#, #"instr(t0."name", ?1) > 0"#, exact: false),
        Case("Habit", #"name BEGINSWITH "Ru""#, #"(t0."name" >= ?1 AND t0."name" < ?2)"#, exact: false),
        Case("Habit", #"name ENDSWITH "n""#, #"substr(CAST(t0."name" AS BLOB), ?1) = ?2"#, exact: false),
        Case("Habit", #"name CONTAINS """#, #"t0."name" IS NOT NULL"#),
        Case("Habit", #"name CONTAINS category"#, #"instr(t0."name", t0."category") > 0"#, exact: false),
        Case("Habit", #"NOT (name CONTAINS "un")"#, nil, exact: false),
        Case("Habit", #"name CONTAINS[cd] "un""#, nil, exact: false),
        Case("Habit", #"streak > 1 AND name CONTAINS[cd] "un""#, #"t0."streak" > ?1"#, exact: false),
        Case("Habit", #"streak > 1 OR name CONTAINS[cd] "un""#, nil, exact: false),
        Case("Habit", "streak + 1 > 3", nil, exact: false),
        Case("Habit", "streak > 1 AND streak + 1 > 3 AND isArchived", #"t0."streak" > ?1"#, exact: false),
        Case("Habit", "LENGTH(name) > 3", nil, exact: false),
        Case("Habit", "LENGTH(name) == 0", #"t0."name" = ''"#),
        Case("Habit", "0 < LENGTH(name)", #"t0."name" <> ''"#),
        Case("Habit", "LENGTH(category) != 0", #"t0."category" IS NOT ''"#),
        Case("Habit", "NOT (LENGTH(category) < 1)", #"NOT (COALESCE(t0."category" = '', 0))"#),
        Case("Habit", "LENGTH(name) == LENGTH(category)", nil, exact: false),
        Case(
            "Habit",
            "COUNT tags == COUNT entries",
            #"(SELECT COUNT(*) FROM "Habit_tagIDs" AS t2 JOIN "Tag" AS t1 ON t1."id" = t2.target WHERE t2.owner = t0."id")"#
                + #" = (SELECT COUNT(*) FROM "Entry" AS t3 WHERE t3."habitID" = t0."id")"#
        ),
        Case(
            "Habit",
            "target > 5 OR target == 5 AND streak > 3",
            #"(t0."target" >= ?4 AND (t0."target" > ?1 OR (t0."target" = ?2 AND t0."streak" > ?3)))"#
        ),
        Case("Habit", "LENGTH(tagIDs) > 1", #"(SELECT COUNT(*) FROM "Habit_tagIDs" WHERE owner = t0."id") > ?1"#),
        Case("Habit", "COALESCE(target, 0) > 1", #"COALESCE(t0."target", ?1) > ?2"#),
        Case(
            "Habit",
            "IF(isArchived, 1, streak) > 1",
            #"CASE WHEN t0."isArchived" = 1 THEN ?1 ELSE t0."streak" END > ?2"#
        ),
        Case("Habit", "ANY entries", #"EXISTS (SELECT 1 FROM "Entry" AS t1 WHERE t1."habitID" = t0."id")"#),
        Case(
            "Habit",
            "ANY entries { value > 3 }",
            #"EXISTS (SELECT 1 FROM "Entry" AS t1 WHERE t1."habitID" = t0."id" AND t1."value" > ?1)"#
        ),
        Case(
            "Habit",
            "ALL entries { value > 3 }",
            #"NOT EXISTS (SELECT 1 FROM "Entry" AS t1 WHERE t1."habitID" = t0."id" "#
                + #"AND NOT (COALESCE(t1."value" > ?1, 0)))"#
        ),
        Case(
            "Habit",
            #"ANY entries { note CONTAINS[cd] "x" }"#,
            #"EXISTS (SELECT 1 FROM "Entry" AS t1 WHERE t1."habitID" = t0."id")"#,
            exact: false
        ),
        Case("Habit", #"ALL entries { note CONTAINS[cd] "x" }"#, nil, exact: false),
        Case(
            "Habit",
            "COUNT tags == 0",
            #"NOT EXISTS (SELECT 1 FROM "Habit_tagIDs" AS t2 JOIN "Tag" AS t1 ON t1."id" = t2.target "#
                + #"WHERE t2.owner = t0."id")"#
        ),
        Case(
            "Tag",
            "COUNT habits { isArchived } > 1",
            #"(SELECT COUNT(*) FROM "Habit_tagIDs" AS t2 JOIN "Habit" AS t1 ON t1."id" = t2.owner "#
                + #"WHERE t2.target = t0."id" AND t1."isArchived" = 1) > ?1"#
        ),
        Case(
            "Habit",
            #"tagIDs CONTAINS "00000000-0000-0000-0000-000000000001""#,
            #"EXISTS (SELECT 1 FROM "Habit_tagIDs" WHERE owner = t0."id" AND target = ?1)"#
        ),
        Case(
            "Entry",
            #"habit.name == "Run""#,
            #"(SELECT t1."name" FROM "Habit" AS t1 WHERE t1."id" = t0."habitID") = ?1"#
        ),
        Case("Entry", "habit == nil", #"NOT (EXISTS (SELECT 1 FROM "Habit" AS t1 WHERE t1."id" = t0."habitID"))"#),
        Case("Draft", #"attachments CONTAINS "x""#, nil, exact: false),
        Case("Draft", "attachments == []", nil, exact: false),
    ]

    private func plan(_ entity: String, _ filter: FilterExpression, isCanonical: Bool = true) throws -> SQLitePlan {
        let schema = HabitSchema.current
        let tables = schema.entities.enumerated().map { SQLiteTable(entity: $0, $1) }
        let folder = try TemporaryFolder()
        let connection = try SQLiteConnection(path: folder.file(), mode: .create)
        let query = try RecordQuery(entity: entity, filter: filter).bound(to: schema)
        return try SQLitePlanner(tables, textIsCanonical: isCanonical, connection).plan(query)
    }

    private func condition(_ plan: SQLitePlan) -> String? {
        plan.countSQL.range(of: " WHERE ").map { String(plan.countSQL[$0.upperBound...]) }
    }

    @Test(arguments: cases)
    func isTranslated(_ example: Case) throws {
        let plan = try plan(example.entity, FilterExpression(text: example.filter))
        #expect(condition(plan) == example.sql)
        #expect(plan.filterIsExact == example.isExact)
    }

    @Test(arguments: [#"name == "Run""#, #"name < "Run""#, #"name CONTAINS "x""#, #"name IN ["a"]"#])
    func textIsLeftToSwiftWhereItsFormIsUnknown(_ text: String) throws {
        let plan = try plan("Habit", FilterExpression(text: text), isCanonical: false)
        #expect(condition(plan) == nil)
        #expect(!plan.filterIsExact)
    }

    @Test func nilIsToldOfTextOfAnyForm() throws {
        let plan = try plan("Habit", FilterExpression(text: "category == nil"), isCanonical: false)
        #expect(condition(plan) == #"t0."category" IS NULL"#)
        #expect(plan.filterIsExact)
    }

    @Test func longListsAreOneValue() throws {
        let ids = FilterExpression.isIn(.attribute(AttributePath("id")), (0..<200).map { .uuid(testID($0)) })
        let identifiers = try plan("Habit", ids)
        #expect(identifiers.bindings.count == 2 && identifiers.filterIsExact)
        let numbers = FilterExpression.isIn(.attribute(AttributePath("streak")), (0..<200).map { .int($0) })
        let whole = try plan("Habit", numbers)
        #expect(whole.bindings.count == 1 && whole.filterIsExact)
        let texts = FilterExpression.isIn(.attribute(AttributePath("name")), (0..<501).map { .string("\($0)") })
        #expect(try plan("Habit", texts).bindings.count == 1 && plan("Habit", texts).filterIsExact)
        let doubles = (0..<501).map { Value.double(Double($0)) }
        let many = FilterExpression.isIn(.attribute(AttributePath("target")), doubles)
        #expect(try !plan("Habit", many).filterIsExact)
    }

    @Test func theEndOfAPrefixIsTheNextScalar() {
        #expect("ab".endOfPrefix == "ac")
        #expect("a\u{D7FF}".endOfPrefix == "a\u{E000}")
        #expect("a\u{10FFFF}".endOfPrefix == "b")
        #expect("\u{10FFFF}\u{10FFFF}".endOfPrefix == nil)
    }
}
