import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker
import Testing

@testable import ShadowVerifier

/// Changes outside a store's transactions that a verification missed, or crashed on.
struct HiddenChangeTests {
    private func differences(_ pair: FilePair, _ depth: VerificationDepth = .full) throws -> [StoreDifference] {
        try pair.openForReading()
        return try pair.verify(depth).differences
    }

    // MARK: Bookkeeping

    /// A raised floor hid the history before it: a changed author was not compared, and a floor above the last token passed as well.
    @Test(arguments: [1, 99])
    func aFloorThatWasRaisedHidesNothing(_ floor: Int) throws {
        let pair = try FilePair(drafts: 3)
        try pair.runSQL(
            """
            UPDATE history_transaction SET author = 'somebody else';
            INSERT OR REPLACE INTO habitstore_metadata VALUES ('historyFloor', '\(floor)')
            """
        )
        let found = try differences(pair)
        #expect(found.contains { $0.kind == .damage && $0.subject == "A: historyBeforeFloor" })
        #expect(found.contains { $0.subject == "A: bookkeepingDamaged" } == (floor == 99))
    }

    @Test func floorsThatDifferAreTold() throws {
        let pair = try FilePair(drafts: 3)
        try pair.sqlite.pruneHistory(through: HistoryToken(rawValue: 1))
        let report = try pair.verify()
        #expect(report.verdict == .match)
        #expect(report.notCompared.contains("history: A has none up to token 1, B up to 0"))
    }

    /// The check accepted a store that no command could read.
    @Test(arguments: [
        "DELETE FROM habitstore_metadata WHERE key = 'lineage'",
        "INSERT OR REPLACE INTO habitstore_metadata VALUES ('lineage', 'x')",
        "INSERT OR REPLACE INTO habitstore_metadata VALUES ('epoch', 'x')",
        "INSERT OR REPLACE INTO habitstore_metadata VALUES ('epoch', '9223372036854775807')",
        "INSERT OR REPLACE INTO habitstore_metadata VALUES ('lastToken', '9223372036854775807')",
        "INSERT OR REPLACE INTO habitstore_metadata VALUES ('historyFloor', '9223372036854775807')",
        "INSERT OR REPLACE INTO habitstore_metadata VALUES ('textForm', 'nfd')",
        "DELETE FROM habitstore_metadata WHERE key = 'shape.Tag'",
    ])
    func aStoreThatSaysWrongThingsOfItselfIsNotSound(_ sql: String) throws {
        let pair = try FilePair(drafts: 3)
        try pair.runSQL(sql)
        let findings = try pair.sqlite.check { _ in }
        #expect(findings.map(\.kind) == ["bookkeepingDamaged"] && findings.map(\.severity) == [.damage])
    }

    /// Two stores with the same entities and different rules passed for equal.
    @Test func schemasWithOtherRulesAreNotCompared() throws {
        let pair = try FilePair(drafts: 3)
        var shapes = StoredSchema(pair.sqlite.schema)
        for place in shapes.entities[0].relationships.indices {
            shapes.entities[0].relationships[place].deleteRule = .nullify
        }
        let other = try InMemoryHabitStore(schema: Schema(shapes: shapes.entities, version: shapes.version))
        let error = #expect(throws: HabitStoreError.self) {
            _ = try ShadowVerifier(.init(name: "A", store: pair.sqlite), .init(name: "B", store: other)).run()
        }
        #expect(error?.code == .schemaMismatch && error?.message.contains("delete rule") == true)
    }

    // MARK: Numbers

    /// A last token of 10^12 was approached in steps of 100,000; one of 2^63 - 1 crashed the process.
    @Test(.timeLimit(.minutes(5)), arguments: ["1000000000000", "140737488355328"])
    func tokensThatNobodyComesToTakeNoTime(_ token: String) throws {
        let pair = try FilePair(drafts: 3)
        try pair.runSQL("INSERT OR REPLACE INTO habitstore_metadata VALUES ('lastToken', '\(token)')")
        try pair.lmdb.core.engine.write { try $0.setMetadata("lastToken", token) }
        #expect(try differences(pair).contains { $0.subject == "A: historyGap" })
    }

    @Test(arguments: [1e300, .infinity, .nan, 9.3e18, -1, 0])
    func aTimeLimitMayBeAnyNumber(_ limit: Double) throws {
        let pair = try FilePair(drafts: 3)
        let report = try pair.verify { $0.timeLimitSeconds = limit }
        #expect(report.verdict == (limit > 0 ? .match : .timedOut))
    }

    /// A digest that claimed 2^63 - 1 records crashed the process.
    @Test(arguments: VerificationDepth.allCases, ["9223372036854775807", "-9223372036854775808", "4294967297"])
    func aDigestOfImpossiblyManyRecordsIsDamage(_ depth: VerificationDepth, _ count: String) throws {
        let pair = try FilePair(drafts: 3)
        try pair.runSQL("UPDATE habitstore_digest SET count = \(count)")
        try pair.openForReading()
        let found = Result { try pair.verify(depth).differences }
        switch found {
        case .success(let differences): #expect(differences.contains { $0.kind == .damage })
        case .failure(let error): #expect((error as? HabitStoreError)?.code == .corrupt)
        }
    }

    /// Extreme numbers in each column of each table.
    @Test func theGreatestAndTheLeastNumbersInEachColumnEndNothing() throws {
        let pair = try FilePair(drafts: 2)
        try pair.sqlite.save(Tag(name: "a"))
        pair.close()
        let path = pair.folder.appendingPathComponent("a.sqlite").path
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let columns = [
            ("Habit", ["streak", "timesPerPeriod", "periodDays", "isArchived", "createdAt", "target"]),
            ("Entry", ["date", "value"]), ("Draft", ["creationDate"]), ("history_transaction", ["token", "timestamp"]),
            ("history_change", ["token", "sequence"]), ("habitstore_digest", ["depth", "count"]),
        ]
        for (table, names) in columns {
            for name in names {
                for value in ["9223372036854775807", "-9223372036854775808", "9e999", "-1.7e308", "0", "-1"] {
                    try whole.write(to: URL(fileURLWithPath: path))
                    // A column that accepts no such value, or only once, keeps its value.
                    do { try pair.runSQL("UPDATE OR IGNORE \(table) SET \(name) = \(value)") } catch is HabitStoreError
                    { continue }
                    for depth in VerificationDepth.allCases { try expectEnd(pair, depth) }
                }
            }
        }
    }

    /// Expects a verdict or a `HabitStoreError`; damage causes nothing else.
    private func expectEnd(_ pair: FilePair, _ depth: VerificationDepth) throws {
        defer { pair.close() }
        do {
            try pair.openForReading()
            _ = try pair.verify(depth) { options in
                options.reportsErrors = true
                // No process is writing, so there is no common token to wait for.
                options.tokenTries = 1
            }
            _ = try pair.sqlite.checkDigests()
            _ = try pair.sqlite.fetchHistory(after: .zero)
        } catch {
            #expect(error is HabitStoreError)
        }
    }

    @Test(arguments: ["\"entity\":-1", "\"entity\":99", "\"compared\":9223372036854775807", "\"place\":-7"])
    func aCheckpointWithImpossibleNumbersIsNotTakenUp(_ text: String) throws {
        struct Interruption: Error {}
        let pair = try FilePair(drafts: 2_500)
        try pair.openForReading()
        func configure(_ options: inout VerificationOptions) {
            options.checkpointPath = pair.checkpoint
            options.checkpointRecords = 1_000
        }
        var left = 2
        #expect(throws: Interruption.self) {
            _ = try pair.verify(configure: configure) { progress in
                guard progress.level == "contents" else { return }
                left -= 1
                if left < 0 { throw Interruption() }
            }
        }
        var kept = try String(contentsOfFile: pair.checkpoint, encoding: .utf8)
        let name = text.prefix { $0 != ":" }
        let place = try #require(kept.range(of: "\(name):[0-9]+", options: .regularExpression))
        kept.replaceSubrange(place, with: text)
        try Data(kept.utf8).write(to: URL(fileURLWithPath: pair.checkpoint))
        let report = try pair.verify(configure: configure)
        #expect(report.verdict == .match)
        #expect(report.notes.contains("compared from the beginning: the checkpoint was damaged"))
    }

    // MARK: Digests

    /// A digest missing from both stores left a range that no digest covered: the quick verification called stores identical that differed there.
    @Test(arguments: [VerificationDepth.keptDigests, .full])
    func aDigestThatIsGoneFromBothStoresIsFound(_ depth: VerificationDepth) throws {
        let pair = try FilePair(drafts: 3_000)
        let last = try #require(try pair.drafts().map(\.id).max { $0.isBefore($1) })
        try pair.runSQL(
            """
            UPDATE Draft SET content = 'x' WHERE id = x'\(last.hexadecimal)';
            DELETE FROM habitstore_digest WHERE entity = 'Draft' AND first = (
              SELECT max(first) FROM habitstore_digest WHERE entity = 'Draft')
            """
        )
        try pair.lmdb.core.engine.write { writer in
            let leaves = try #require(try writer.digestLeaves(entity: 3))
            try writer.removeDigestLeaves(entity: 3)
            for leaf in leaves.dropLast() { try writer.setDigestLeaf(entity: 3, leaf) }
        }
        let found = try differences(pair, depth)
        #expect(found.contains { $0.kind == .attribute && $0.id == last })
        for letter in ["A", "B"] {
            #expect(found.contains { $0.kind == .digest && $0.subject == letter && $0.id == nil })
        }
        #expect(try pair.sqlite.checkDigests().map(\.kind).contains("digestMissing"))
        #expect(try pair.lmdb.checkDigests().map(\.kind) == ["digestMissing"])
    }

    @Test func theDigestsOfOneEntityAloneCannotBeMissing() throws {
        let pair = try FilePair(drafts: 3)
        try pair.runSQL("DELETE FROM habitstore_digest WHERE entity = 'Draft'")
        #expect(try differences(pair).map(\.entity) == ["Draft"])
        #expect(try pair.sqlite.checkDigests().map(\.kind) == ["digestMissing"])
    }

    // MARK: Histories

    @Test(arguments: [
        "UPDATE history_change SET sequence = sequence + 1000", "UPDATE history_change SET sequence = -sequence",
        "UPDATE history_change SET attributes = '[\"date\"]'", "UPDATE history_change SET tombstone = '{}'",
    ])
    func changesThatAreWrittenAsNoneIsAreFound(_ sql: String) throws {
        let pair = try FilePair(drafts: 3)
        try pair.runSQL(sql)
        #expect(try differences(pair).contains { $0.subject == "A: historyDamaged" })
    }
}
