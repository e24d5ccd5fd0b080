import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport

/// Values that an import silently omitted or invented: `import coredata` ended with 0, and a later comparison found it, or not even that.
@Suite struct SilentLossTests {
    /// A changed file, imported and compared.
    private struct Run {
        let report: CoreDataImportReport
        let contents: [String: [String: String]]
        let unaccounted: [String]
        let differing: [String]
    }

    private func run(_ sql: String, history: Bool = false, losing line: String? = nil) throws -> Run {
        let fixture = try CoreDataFixture()
        try fixture.writeLibrary()
        if history { try fixture.writeHistory() }
        try fixture.sql(sql)
        let target = try ImportTarget(.sqlite)
        let report = try target.update(from: fixture.path)
        if let line {
            let path = target.path + ".unmapped.jsonl"
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            let left = lines.filter { !$0.contains(line) }
            try #require(left.count < lines.count)
            try Data(left.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
        }
        let contents = try target.contents(of: fixture.path)
        let witnessed = try target.with(fixture.path) { try CoreDataWitness.store(of: $0, for: $1).contents() }
        return Run(
            report: report,
            contents: contents,
            unaccounted: try target.unaccounted(of: fixture.path),
            differing: contents.differences(from: witnessed)
        )
    }

    private static let tagsWithoutKeys =
        "CREATE TABLE t AS SELECT * FROM ZTAG; DROP TABLE ZTAG; ALTER TABLE t RENAME TO ZTAG; "

    static let unusableKeys = ["NULL", "1", "'x7'", "7.5", "x'07'"]

    /// If `Z_PK` is not a primary key, a row without one was skipped, the second row of a key replaced the first, and texts and fractions became
    /// keys: 'x7'
    /// became 0 and 7.5 became 7, each with a record that the app never had.
    @Test(arguments: unusableKeys)
    func aRowWithoutAKeyOfItsOwnIsKeptAndProvesALoss(_ key: String) throws {
        let sql = Self.tagsWithoutKeys + "INSERT INTO ZTAG VALUES (\(key), 5, 1, 'astray')"
        let found = try run(sql)
        #expect(found.report.shortfalls.map(\.kind) == ["keyUnusable"])
        #expect(found.report.shortfalls.first?.count == 1)
        #expect(found.unaccounted.isEmpty, "\(found.unaccounted)")
        #expect(found.differing.isEmpty, "\(found.differing)")
        let tags = found.contents.filter { $0.key.hasPrefix("Tag ") }
        #expect(Set(tags.values.compactMap { $0["name"] }).count == 2)
        #expect(!tags.values.contains { $0["name"]?.contains("astray") == true })
        let lost = try run(sql, losing: "astray")
        #expect(lost.unaccounted.contains { $0.contains("1 of 1 values of ZTAG.ZNAME") }, "\(lost.unaccounted)")
    }

    static let oddReferences = ["3.7", "x'33'", "'abc'"]

    /// SQLite converts anything to a number if a number is requested: 3.7 led to book 3 and 'abc' to book 0.
    @Test(arguments: oddReferences)
    func whatIsNoKeyLeadsNowhere(_ value: String) throws {
        let found = try run("UPDATE ZPAGE SET ZBOOK = \(value) WHERE Z_PK = 5")
        #expect(found.report.shortfalls.map(\.kind) == ["otherType"])
        #expect(found.report.losses.map(\.property) == ["book"])
        #expect(found.contents.values.filter { $0["coreDataKey"] == "5" }.compactMap { $0["bookID"] } == ["nil"])
        #expect(found.unaccounted.isEmpty, "\(found.unaccounted)")
        #expect(found.differing.isEmpty, "\(found.differing)")
        let lost = try run("UPDATE ZPAGE SET ZBOOK = \(value) WHERE Z_PK = 5", losing: "ZBOOK")
        #expect(lost.unaccounted.contains { $0.contains("values of ZPAGE.ZBOOK") }, "\(lost.unaccounted)")
    }

    @Test(arguments: oddReferences)
    func aLinkWhoseEndIsNoKeyIsNone(_ value: String) throws {
        let found = try run("INSERT INTO Z_1TAGS VALUES (2, \(value))")
        #expect(found.report.shortfalls.map(\.kind) == ["otherType"])
        #expect(found.unaccounted.isEmpty, "\(found.unaccounted)")
        #expect(found.differing.isEmpty, "\(found.differing)")
    }

    /// `PRAGMA table_info` does not list generated columns, so they were unknown.
    @Test(arguments: ["VIRTUAL", "STORED"])
    func aGeneratedColumnIsAColumnAsOthersAre(_ kind: String) throws {
        let found = try run(
            """
            DROP TABLE ZTAG;
            CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR,
              ZLOUD VARCHAR GENERATED ALWAYS AS (ZNAME || '!') \(kind));
            INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 5, 1, 'desert'), (2, 5, 1, 'worms');
            """
        )
        #expect(found.report.shortfalls.map(\.kind) == ["unknownToModel"])
        #expect(found.report.losses.reduce(0) { $0 + $1.count } == 2)
        #expect(found.unaccounted.isEmpty, "\(found.unaccounted)")
    }

    static let leftOut: [(name: String, sql: String)] = [
        ("Z_METADATA.ZNOTE", "ALTER TABLE Z_METADATA ADD COLUMN ZNOTE TEXT; UPDATE Z_METADATA SET ZNOTE = 'x'"),
        ("Z_PRIMARYKEY.ZNOTE", "ALTER TABLE Z_PRIMARYKEY ADD COLUMN ZNOTE TEXT; UPDATE Z_PRIMARYKEY SET ZNOTE = 'x'"),
        ("ATRANSACTIONSTRING.ZNAME", "INSERT INTO ATRANSACTIONSTRING VALUES (9, 16003, NULL, 'of nobody')"),
        ("ACHANGE.ZTOMBSTONE0", "UPDATE ACHANGE SET ZTOMBSTONE0 = x'01' WHERE Z_PK = 10"),
    ]

    /// Neither the import nor the comparison looked at these.
    @Test(arguments: leftOut)
    func whatIsLeftOutOfCoreDatasOwnTablesIsTold(_ fault: (name: String, sql: String)) throws {
        let found = try run(fault.sql, history: true)
        let named = found.report.notCarried.map { "\($0.table).\($0.column ?? "")" }
        #expect(named.contains(fault.name), "\(named)")
        #expect(found.report.shortfalls.isEmpty)
        #expect(found.unaccounted.isEmpty, "\(found.unaccounted)")
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(.sqlite)
        try target.update(from: fixture.path)
        try fixture.sql(fault.sql)
        let missing = try target.unaccounted(of: fixture.path)
        #expect(missing.contains { $0.contains("values of \(fault.name)") }, "\(missing)")
    }

    /// Writes without a history entry were never looked for: "nothing to do: the store has all of the file's history".
    @Test(arguments: [false, true])
    func whatTheHistoryDoesNotTellOfIsLookedFor(_ alsoSaves: Bool) throws {
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(.sqlite)
        try target.update(from: fixture.path)
        #expect(try target.update(from: fixture.path).mode == .followed)
        try fixture.sql("INSERT INTO ZPAGE (Z_PK, Z_ENT, Z_OPT, ZNUMBER) VALUES (50, 4, 1, 5)")
        if alsoSaves {
            try fixture.sql(
                """
                INSERT INTO ZTAG VALUES (3, 5, 1, 'told');
                INSERT INTO ATRANSACTION (Z_PK, ZTIMESTAMP, ZAUTHORTS) VALUES (4, 700000005, 1);
                INSERT INTO ACHANGE (Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) VALUES (12, 0, 5, 3, 4);
                """
            )
        }
        let report = try target.update(from: fixture.path)
        #expect(report.mode == .compared)
        #expect(report.transactions == (alsoSaves ? 1 : 0))
        #expect(report.oddities.contains { $0.kind == "historyIncomplete" && $0.message.contains("ZPAGE") })
        let fresh = try ImportTarget(.sqlite)
        try fresh.update(from: fixture.path)
        #expect(try target.contents(of: fixture.path) == fresh.contents(of: fixture.path))
        #expect(try target.update(from: fixture.path).mode == .followed)
    }

    static let nothingLost: [(kind: String, sql: String)] = [
        (
            "unknownToModel",
            """
            CREATE TABLE t AS SELECT * FROM Z_1TAGS; DROP TABLE Z_1TAGS; ALTER TABLE t RENAME TO Z_1TAGS;
            INSERT INTO Z_1TAGS SELECT * FROM Z_1TAGS
            """
        ),
        ("malformedText", "UPDATE ZTAG SET ZNAME = CAST(x'ff41' AS TEXT) WHERE Z_PK = 1"),
        ("otherType", "UPDATE ZBOOK SET ZPUBLISHED = 9007199254740993 WHERE Z_PK = 2"),
        ("otherType", "UPDATE ZBOOK SET ZPUBLISHED = 9223372036854775807 WHERE Z_PK = 2"),
    ]

    /// The comparison reported differences in values that were kept correctly, and no option could avoid that.
    @Test(arguments: nothingLost)
    func whatIsKeptBesideTheStoreIsNoDifference(_ fault: (kind: String, sql: String)) throws {
        let found = try run(fault.sql)
        #expect(found.report.shortfalls.map(\.kind) == [fault.kind])
        #expect(found.unaccounted.isEmpty, "\(found.unaccounted)")
        #expect(found.differing.isEmpty, "\(found.differing)")
    }
}
