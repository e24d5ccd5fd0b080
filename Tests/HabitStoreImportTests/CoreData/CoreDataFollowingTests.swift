import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreImport

/// Wherever following a file is stopped, the store ends up like a new import of the file once following continues.
@Suite struct CoreDataFollowingTests {
    private struct Stopped: Error {}

    @Test(arguments: TargetEngine.onDisk)
    func whatTheAppSavesIsAppliedTransactionByTransaction(_ engine: TargetEngine) throws {
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(engine)
        try target.update(from: fixture.path)
        var app = FixtureApp(fixture, seed: 7)
        for _ in 0..<5 { try app.save() }
        let report = try target.update(from: fixture.path)
        #expect(report.mode == .followed)
        #expect(report.transactions == 5)
        #expect(report.position == 8)
        let fresh = try ImportTarget(.sqlite)
        try fresh.update(from: fixture.path)
        #expect(try target.contents(of: fixture.path) == fresh.contents(of: fixture.path))
    }

    @Test(arguments: TargetEngine.onDisk, 0..<6)
    func stoppedAnywhereNothingIsLostOrDoubled(_ engine: TargetEngine, _ round: Int) throws {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(engine)
        try target.update(from: fixture.path)
        var app = FixtureApp(fixture, seed: seed)
        for _ in 0..<12 {
            for _ in 0..<Int.random(in: 0...4, using: &generator) { try app.save() }
            var options = CoreDataImporter.Options()
            let stop = Int64(Int.random(in: 1...6, using: &generator))
            let start = try target.transaction(of: fixture.path)
            options.didCommit = { if let number = $0, number >= start + stop { throw Stopped() } }
            do { try target.update(from: fixture.path, options) } catch is Stopped {}
        }
        try target.update(from: fixture.path)
        let fresh = try ImportTarget(.sqlite)
        try fresh.update(from: fixture.path)
        let differing = try target.contents(of: fixture.path).differences(from: fresh.contents(of: fixture.path))
        #expect(differing.isEmpty, "seed \(seed): \(differing)")
        try target.expectHistory(of: app, seed)
    }

    @Test func aDeletionThatTheHistoryProvesIsMade() throws {
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(.sqlite)
        try target.update(from: fixture.path)
        let isbn = "AA84E164-CAFB-4AD8-9ACD-EBB399FF372A"
        #expect(try target.contents(of: fixture.path)["Book \(isbn)"] != nil)
        try fixture.sql(
            """
            DELETE FROM ZBOOK WHERE Z_PK = 1; UPDATE ZPAGE SET ZBOOK = NULL; DELETE FROM Z_1TAGS; DELETE FROM Z_1SEQUELS;
            INSERT INTO ATRANSACTION (Z_PK, ZTIMESTAMP, ZAUTHORTS) VALUES (4, 5, 2);
            INSERT INTO ACHANGE (Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) VALUES (12, 2, 1, 1, 4);
            """
        )
        let report = try target.update(from: fixture.path)
        #expect(report.deleted == 1)
        let contents = try target.contents(of: fixture.path)
        #expect(contents["Book \(isbn)"] == nil)
        // The file's history mentions only the book; its pages lost it too.
        #expect(contents.filter { $0.key.hasPrefix("Page") }.allSatisfy { $0.value["bookID"] == "nil" } == true)
    }

    @Test func withoutAHistoryOrBehindAPrunedOneFollowingIsRefusedAndSaysWhy() throws {
        var options = CoreDataImporter.Options()
        options.requiresHistory = true
        let plain = try CoreDataFixture.library(history: false)
        let target = try ImportTarget(.sqlite)
        let none = #expect(throws: HabitStoreError.self) { try target.update(from: plain.path, options) }
        #expect(none?.code == .unsupported)
        #expect(none?.message.contains("no persistent history") == true)

        let fixture = try CoreDataFixture.library()
        let second = try ImportTarget(.sqlite)
        try second.update(from: fixture.path, options)
        var app = FixtureApp(fixture, seed: 3)
        for _ in 0..<4 { try app.save() }
        try fixture.sql("DELETE FROM ATRANSACTION WHERE Z_PK < 6; DELETE FROM ACHANGE WHERE ZTRANSACTIONID < 6")
        let pruned = #expect(throws: HabitStoreError.self) { try second.update(from: fixture.path, options) }
        #expect(pruned?.code == .historyExpired)
        #expect(pruned?.message.contains("begins at transaction 6, and the store has it up to 3") == true)
        // Without the requirement everything is compared, and following works again from there.
        #expect(try second.update(from: fixture.path).mode == .compared)
        try app.save()
        #expect(try second.update(from: fixture.path, options).mode == .followed)
        try fixture.sql("DELETE FROM ATRANSACTION WHERE Z_PK > 6")
        let older = #expect(throws: HabitStoreError.self) { try second.update(from: fixture.path, options) }
        #expect(older?.code == .olderSource)
    }

    @Test func aMirrorDoesNothingWhileTheFileIsNotTouched() throws {
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(.sqlite)
        let mirror = CoreDataMirror(path: fixture.path, CoreDataMirror.derived { try target.open($0) })
        #expect(try mirror.update()?.mode == .first)
        #expect(try mirror.update() == nil)
        var app = FixtureApp(fixture, seed: 1)
        try app.save()
        #expect(try mirror.update()?.transactions == 1)
    }
}
