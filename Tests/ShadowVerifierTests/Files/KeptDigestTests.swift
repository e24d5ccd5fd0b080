import Foundation
@_spi(Engines) import HabitStore
import HabitStoreSQLite
import HabitTracker
import Testing

@testable import ShadowVerifier

/// Differences that kept digests can reveal, and those that they cannot.
struct KeptDigestTests {
    @Test func equalStoresAreToldEqualWithoutReadingARecord() throws {
        let pair = try FilePair(drafts: 3_000)
        let report = try pair.verify(.keptDigests)
        #expect(report.verdict == .match)
        #expect(report.a.counts == ["Habit": 1, "Entry": 3_000, "Tag": 0, "Draft": 3_000])
        let level = try #require(report.levels.first { $0.name == "kept digests" })
        #expect(level.compared < 100)
        #expect(report.notCompared.contains { $0.hasPrefix("contents") })
    }

    @Test func oneDifferenceIsNamedByReadingTheRecordsOfOneDigest() throws {
        let pair = try FilePair(drafts: 5_000)
        var draft = try #require(try pair.drafts().randomElement())
        draft.content = "changed"
        try pair.put(draft)
        let report = try pair.verify(.keptDigests)
        #expect(report.verdict == .mismatch)
        #expect(report.differences.map(\.id) == [draft.id])
        #expect(report.differences.map(\.attribute) == ["content"])
        let level = try #require(report.levels.first { $0.name == "kept digests" })
        #expect(level.compared < DigestLeaf.maximumCount + 100)
    }

    @Test func storesWhoseDigestsAreDividedOtherwiseAreEqualAllTheSame() throws {
        let pair = try FilePair(drafts: 1_500)
        // 1,500 more come and go in one store, whose digests stay split.
        let passing = (0..<20_000).map { _ in Draft(content: "passing") }
        try pair.sqlite.insert(passing)
        try pair.sqlite.write { for draft in passing { try $0.delete(Draft.self, id: draft.id) } }
        let leaves = try (kept(pair.sqlite), kept(pair.lmdb))
        #expect(leaves.0.count > leaves.1.count)
        #expect(DigestComparison.differingRanges(leaves.0, leaves.1) == [])
        #expect(DigestComparison.differingRanges(leaves.1, leaves.0) == [])
    }

    @Test func aChangePastTheTransactionsIsSeenByAFullVerificationOnly() throws {
        let pair = try FilePair(drafts: 100)
        let draft = try #require(try pair.drafts().first)
        try pair.runSQL("UPDATE Draft SET content = 'x' WHERE id = x'\(draft.id.hexadecimal)'")
        #expect(try pair.verify(.keptDigests).verdict == .match)
        let report = try pair.verify()
        #expect(report.differences.map(\.kind) == [.attribute, .digest])
        #expect(report.differences.first?.id == draft.id)
        // The message names the store that is not as its transactions wrote it.
        #expect(report.differences.last?.message.hasPrefix("A: ") == true)
    }

    @Test func aDigestThatIsNotThatOfItsRecordsIsBlamedOnItsStore() throws {
        let pair = try FilePair(drafts: 100)
        var draft = try #require(try pair.drafts().first)
        draft.content = "x"
        try pair.runSQL("UPDATE Draft SET content = 'x' WHERE id = x'\(draft.id.hexadecimal)'")
        try pair.put(draft)
        for depth in [VerificationDepth.keptDigests, .full] {
            let report = try pair.verify(depth)
            #expect(report.differences.map(\.kind) == [.digest])
            #expect(report.differences.first?.message.hasPrefix("A: ") == true)
        }
    }

    @Test func aStoreOfAVersionThatKeptNoneIsReadAndSaidSo() throws {
        let pair = try FilePair(drafts: 10)
        pair.close()
        try pair.runSQL("DROP TABLE habitstore_digest")
        try pair.openForReading()
        let report = try pair.verify(.keptDigests)
        #expect(report.verdict == .match)
        #expect(report.notes.contains { $0.contains("keeps no digests") })
        let full = try pair.verify()
        #expect(full.verdict == .match)
        #expect(full.notCompared.contains { $0.hasPrefix("kept digests: A") })
    }

    @Test func theNextOpeningForWritingBeginsToKeepThem() throws {
        let pair = try FilePair(drafts: 2_000)
        pair.close()
        try pair.runSQL("DROP TABLE habitstore_digest")
        try SQLiteHabitStore(path: pair.folder.appendingPathComponent("a.sqlite").path, schema: HabitSchema.current)
            .close()
        try pair.openForReading()
        #expect(try pair.verify(.keptDigests).notes == [])
        #expect(try pair.verify().verdict == .match)
    }

    @Test func digestsThatDeviateAreFoundInTheStoreItselfAndMadeAnew() throws {
        let pair = try FilePair(drafts: 2_000)
        #expect(try pair.sqlite.checkDigests() == [])
        let draft = try #require(try pair.drafts().last)
        try pair.runSQL("UPDATE Draft SET content = 'x' WHERE id = x'\(draft.id.hexadecimal)'")
        let findings = try pair.sqlite.checkDigests()
        #expect(findings.map(\.kind) == ["digestDeviates"])
        #expect(findings.first?.severity == .damage)
        #expect(findings.first?.message.contains("content") == false)
        for store in [pair.sqlite, pair.lmdb] as [any EngineBackedStore] {
            try store.rebuildDigests()
            #expect(try store.checkDigests() == [])
        }
        #expect(try pair.verify(.keptDigests).differences.map(\.id) == [draft.id])
    }

    private func kept(_ store: any EngineBackedStore) throws -> [DigestLeaf] {
        try store.read { try $0.keptDigests(of: 3) ?? [] }
    }
}

extension UUID {
    var hexadecimal: String { uuidString.replacingOccurrences(of: "-", with: "") }
}
