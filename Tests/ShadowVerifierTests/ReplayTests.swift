import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import ShadowVerifier

/// A recorded mismatch is found again without the stores.
struct ReplayTests {
    private static let notes = QueryFile.Query(
        name: "notes",
        entity: "Entry",
        filter: "note CONTAINS \"note 1\"",
        sort: ["-date"]
    )

    /// Two stores with a difference of nearly every kind.
    private func differing() throws -> StorePair {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Habit", StorePair.id(2), ["name": .string("Secret")])
        try StorePair.plant(pair.b, "Entry", StorePair.id(10), ["habitID": .uuid(StorePair.id(99))])
        try StorePair.plant(pair.b, "Entry", StorePair.id(12), ["note": .null])
        try StorePair.remove(pair.b, "Draft", StorePair.id(30))
        try StorePair.remove(pair.a, "Habit", StorePair.id(3))
        return pair
    }

    private func record(
        _ pair: StorePair,
        showsValues: Bool,
        second: LyingStore? = nil
    ) throws -> (report: VerificationReport, recording: MismatchRecording) {
        let recorder = MismatchRecorder()
        let report = try SampleReport.verify(pair, with: second ?? LyingStore(pair.b)) {
            $0.queries = [Self.notes]
            $0.showsValues = showsValues
            $0.recorder = recorder
        }
        let recording = try #require(recorder.recording)
        return (report, try MismatchRecording.decode(try recording.encoded()))
    }

    @Test(arguments: [true, false])
    func everyMismatchIsFoundAgainFromTheFileAlone(showsValues: Bool) throws {
        let (report, recording) = try record(try differing(), showsValues: showsValues)
        #expect(recording.differences == report.differences)
        #expect(recording.keepsValues == showsValues)
        let kinds = Set(report.differences.map(\.kind))
        #expect(
            kinds.isSuperset(of: [.attribute, .missingInA, .missingInB, .count, .dangling, .queryRecords, .queryCount])
        )
        for difference in report.differences {
            let replay = try #require(try recording.replay(difference.differenceID))
            #expect(replay.recorded == difference)
            // A query's record is the first at which its answers differ.
            #expect(replay.finding?.message == difference.message, "\(difference)")
            #expect(replay.finding?.differenceID == difference.differenceID)
            #expect(replay.rows.contains { $0.isMarked && !$0.isEqual }, "\(difference)")
            #expect(replay.names == ["A", "B"])
        }
    }

    @Test func theAttributeIsMarkedAndTheOthersAreThere() throws {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Habit", StorePair.id(2), ["name": .string("Secret"), "unit": .string("km")])
        let (report, recording) = try record(pair, showsValues: true)
        let name = try #require(report.differences.first { $0.attribute == "name" })
        let rows = try #require(try recording.replay(name.differenceID)).rows
        #expect(rows.map(\.name) == pair.a.schema.entities[0].attributes.map(\.name))
        #expect(rows.filter(\.isMarked).map(\.name) == ["name"])
        #expect(Set(rows.filter { !$0.isEqual }.map(\.name)) == ["name", "unit"])
        #expect(rows.first { $0.name == "name" }?.b == "\"Secret\"")
    }

    @Test func nobodysWordsAreRecordedUnasked() throws {
        let (_, redacted) = try record(try differing(), showsValues: false)
        // A short word turns up by chance in some digest's Base64.
        let digest = /[A-Za-z0-9+\/\\]{40,}=*/
        let text = String(decoding: try redacted.encoded(), as: UTF8.self).replacing(digest, with: "")
        for word in ["Secret", "Run", "note 1", "unfinished", "canonical"] { #expect(!text.contains(word), "\(word)") }
        let (_, kept) = try record(try differing(), showsValues: true)
        #expect(String(decoding: try kept.encoded(), as: UTF8.self).contains("Secret"))
    }

    /// Without values it must be impossible to guess them from digests: the same value has another digest in each recording.
    @Test func digestsOfTwoRecordingsCannotBeCompared() throws {
        let pair = try differing()
        let digests = try (0..<2).map { _ in
            let (_, recording) = try record(pair, showsValues: false)
            return recording.mismatches.compactMap { mismatch -> Data? in
                guard case .records(let a, _) = mismatch.evidence else { return nil }
                return a.attributes?.first?.digest
            }
        }
        #expect(!digests[0].isEmpty)
        #expect(Set(digests[0]).isDisjoint(with: digests[1]))
    }

    @Test func aLostIndexEntryIsReplayed() throws {
        let pair = try StorePair()
        let lost = FilterExpression.compare(
            .equal,
            .attribute(AttributePath("habitID")),
            .literal(.uuid(StorePair.id(2)))
        )
        let (report, recording) = try record(
            pair,
            showsValues: false,
            second: LyingStore(pair.b) { $0.filter == lost ? [] : nil }
        )
        let difference = try #require(report.differences.first { $0.kind == .inverse })
        let replay = try #require(try recording.replay(difference.differenceID))
        #expect(replay.finding == difference)
        #expect(replay.columns == ["in the records of B", "found in B from the other side"])
        #expect(replay.rows.first?.b == nil)
    }

    /// Both answers have the same identifiers; the difference is in a record.
    @Test func aQueryWithOtherValuesIsReplayedByTheRecord() throws {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Entry", StorePair.id(12), ["value": .double(1)])
        let (report, recording) = try record(pair, showsValues: false)
        let difference = try #require(report.differences.first { $0.kind == .queryRecords })
        #expect(difference.id == StorePair.id(12))
        let replay = try #require(try recording.replay(difference.differenceID))
        #expect(replay.finding == difference)
        #expect(replay.rows.filter { !$0.isEqual }.map(\.name) == ["value"])
    }

    @Test func whatOnlyAStoreCanSayIsTakenAsItStands() throws {
        let pair = try StorePair()
        let liar = LyingStore(pair.b, findings: [StoreFinding(.damage, "page", "a page is broken")])
        let (report, recording) = try record(pair, showsValues: false, second: liar)
        let replay = try #require(try recording.replay(report.differences[0].differenceID))
        #expect(replay.finding == report.differences[0])
        #expect(replay.note?.contains("as it stands") == true)
    }

    @Test func aRecordingHasRoomForSoManyIdentifiers() throws {
        let answers = MismatchEvidence.answers(
            RecordedQuery(Self.notes),
            a: QueryAnswer(identifiers: [StorePair.id(1), StorePair.id(2)], count: 2),
            b: QueryAnswer(identifiers: [StorePair.id(1)], count: 1)
        )
        var room = 5
        #expect(answers.recordable(within: &room, showsValues: true) == answers)
        #expect(room == 2)
        guard case .statement = answers.recordable(within: &room, showsValues: true) else {
            Issue.record("there is no room for it")
            return
        }
        #expect(room == 2)
    }

    @Test func anUnknownIdentifierIsNoMismatch() throws {
        let (_, recording) = try record(try differing(), showsValues: false)
        #expect(try recording.replay("0123456789ab") == nil)
    }
}
