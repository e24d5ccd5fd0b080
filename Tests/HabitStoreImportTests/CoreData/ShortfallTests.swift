import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport

/// Evidence of a loss once ended with exit code 0, among other remarks: a truncated log, malformed text, tables that are not read.
@Suite struct ShortfallTests {
    private func imported(_ path: String, _ home: URL, _ arguments: [String] = []) throws -> CommandLineRun {
        let store = home.appendingPathComponent("store-\(UUID().uuidString).sqlite").path
        return try CommandLineRun(["import", "coredata", path, "--into", "sqlite:\(store)"] + arguments, home: home)
    }

    static let faults: [(kind: String, sql: String)] = [
        ("otherType", "UPDATE ZPAGE SET ZNUMBER = 'ten'"),
        ("malformedText", "UPDATE ZTAG SET ZNAME = CAST(x'66c3' AS TEXT)"),
        ("unknownToModel", "ALTER TABLE ZTAG ADD COLUMN ZMORE VARCHAR; UPDATE ZTAG SET ZMORE = 'x'"),
        ("tableNotRead", "CREATE TABLE ANSCKEVENT (Z_PK INTEGER); INSERT INTO ANSCKEVENT VALUES (1)"),
        (
            "externalDataMissing",
            "UPDATE ZBOOK SET ZCOVER = x'02' || CAST('5F2B7B1E-6A0B-4C39-9D6E-0F3C8A1D2E4B' AS BLOB)"
        ),
    ]

    @Test(arguments: faults)
    func whatProvesALossIsNamedAndEndsWithOne(_ fault: (kind: String, sql: String)) throws {
        let fixture = try CoreDataFixture.library(history: false)
        try fixture.sql(fault.sql)
        if fault.kind == "externalDataMissing" {
            // `||` gives a text; Core Data stores bytes.
            try fixture.sql("UPDATE ZBOOK SET ZCOVER = CAST(ZCOVER AS BLOB)")
        }
        let run = try imported(fixture.path, fixture.folder)
        #expect(run.status == 1, "\(fault.kind): \(run.output)\(run.errors)")
        #expect(run.output.contains("LOSS \(fault.kind): "), "\(run.output)")
        let accepted = try imported(fixture.path, fixture.folder, ["--allow-loss", fault.kind])
        #expect(accepted.status == 0, "\(accepted.output)\(accepted.errors)")
        let other = fault.kind == "otherType" ? "malformedText" : "otherType"
        #expect(try imported(fixture.path, fixture.folder, ["--allow-loss", other]).status == 1)
        #expect(try imported(fixture.path, fixture.folder, ["--allow-loss", "nothing"]).status == 64)
    }

    @Test func aLogThatIsCutOrForeignEndsWithOne() throws {
        let fixture = try CoreDataFixture(log: true)
        try fixture.writeLibrary()
        try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        for number in 3...6 { try fixture.sql("INSERT INTO ZTAG VALUES (\(number), 5, 1, 'new')") }
        let whole = try Data(contentsOf: URL(fileURLWithPath: fixture.path + "-wal"))
        func status(_ log: Data) throws -> Int32 {
            let copy = try fixture.copy([""])
            try log.write(to: URL(fileURLWithPath: copy + "-wal"))
            return try imported(copy, fixture.folder).status
        }
        #expect(try status(whole) == 0)
        #expect(try status(whole.dropLast(1_000)) == 1)
        #expect(try status(whole.prefix(20)) == 1)
        #expect(try status(Data(repeating: 7, count: 9_000)) == 1)
        var damaged = whole
        damaged[32 + 24 + 100] ^= 1
        #expect(try status(damaged) == 1)
    }

    @Test func theComparisonFindsWhatNobodyAccountsFor() throws {
        let fixture = try CoreDataFixture.library(history: false)
        try fixture.sql("ALTER TABLE ZTAG ADD COLUMN ZMORE VARCHAR; UPDATE ZTAG SET ZMORE = 'x'")
        let store = fixture.folder.appendingPathComponent("store.sqlite").path
        let run = try CommandLineRun(
            "import",
            "coredata",
            fixture.path,
            "--into",
            "sqlite:\(store)",
            home: fixture.folder
        )
        #expect(run.status == 1)
        let equal = try CommandLineRun("verify", fixture.path, store, home: fixture.folder)
        #expect(equal.status == 0, "\(equal.output)\(equal.errors)")
        try FileManager.default.removeItem(atPath: store + ".unmapped.jsonl")
        let different = try CommandLineRun("verify", fixture.path, store, home: fixture.folder)
        #expect(different.status == 1)
        #expect(different.output.contains("2 of 2 values of ZTAG.ZMORE"), "\(different.output)")
    }
}
