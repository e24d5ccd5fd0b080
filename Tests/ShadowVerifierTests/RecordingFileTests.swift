import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import ShadowVerifier

/// A file of recorded mismatches is read back unchanged, or refused.
struct RecordingFileTests {
    private func file() throws -> Data {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Habit", StorePair.id(2), ["name": .string("Secret")])
        let recorder = MismatchRecorder()
        _ = try pair.verify { $0.recorder = recorder }
        return try #require(recorder.recording).encoded()
    }

    private func error(_ data: Data) -> HabitStoreError? {
        #expect(throws: HabitStoreError.self) { _ = try MismatchRecording.decode(data) }
    }

    @Test func aRecordingComesBackAsItWas() throws {
        let data = try file()
        #expect(data.starts(with: MismatchRecording.fileBeginning))
        let recording = try MismatchRecording.decode(data)
        #expect(try recording.encoded() == data)
        #expect(recording.differences.count == 1)
        #expect(recording.token == HistoryToken(rawValue: 1))
        let schema = try InMemoryHabitStore(schema: HabitSchema.current).schema
        #expect(recording.shapes["Habit"] == schema.shapeHash(ofEntity: 0))
        #expect(recording.shapes.count == schema.entities.count)
    }

    @Test func storesThatMatchOrStandElsewhereGiveAnEmptyRecording() throws {
        for isSkewed in [false, true] {
            let pair = try StorePair()
            if isSkewed { try pair.a.save(Habit(name: "later")) }
            let recorder = MismatchRecorder()
            _ = try pair.verify { $0.recorder = recorder }
            let recording = try #require(recorder.recording)
            #expect(try MismatchRecording.decode(try recording.encoded()).differences.isEmpty)
        }
    }

    @Test func everyTruncatedFileIsRefused() throws {
        let data = try file()
        for length in 0..<data.count {
            let code = error(data.prefix(length))?.code
            #expect(code == .corrupt || code == .notAStore, "\(length) bytes")
        }
    }

    @Test func everyFlippedByteIsRefused() throws {
        let data = try file()
        for position in data.indices {
            var damaged = data
            damaged[position] ^= 0x01
            let code = error(damaged)?.code
            #expect(code == .corrupt || code == .notAStore || code == .newerVersion, "byte \(position)")
        }
    }

    @Test func aNewerFormatIsRefusedPolitely() throws {
        let text = String(decoding: try file(), as: UTF8.self)
        let newer = text.replacing("\"formatVersion\":1", with: "\"formatVersion\":2")
        #expect(newer != text)
        let found = error(Data(newer.utf8))
        #expect(found?.code == .newerVersion)
        #expect(found?.message.contains("format 2") == true)
    }

    @Test(arguments: ["", "\n", "{}", "[1]\n", "SQLite format 3\0", #"{"format":"other","formatVersion":1}"#])
    func anotherFileIsRefused(text: String) {
        #expect(error(Data(text.utf8))?.code == .notAStore)
    }

    /// Only a tampered file is like this: its checksum is right, and its parts contradict each other.
    @Test func aDifferenceThatIsNotInItsRecordsIsDamage() throws {
        let recording = try MismatchRecording.decode(try file())
        guard case .records(let a, _) = recording.mismatches[0].evidence else {
            Issue.record("the records of an attribute are recorded")
            return
        }
        let difference = StoreDifference(.missingInB, "it is not in B", entity: "Habit", id: StorePair.id(2))
        let contradiction = MismatchRecording(
            a: recording.a,
            b: recording.b,
            keepsValues: false,
            shapes: recording.shapes,
            mismatches: [RecordedMismatch(difference: difference, evidence: .records(a: .init(attributes: nil), b: a))]
        )
        let found = #expect(throws: HabitStoreError.self) { _ = try contradiction.replay(difference.differenceID) }
        #expect(found?.code == .corrupt)
    }
}
