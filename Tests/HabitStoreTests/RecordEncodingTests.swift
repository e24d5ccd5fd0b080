import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import Testing

@Suite("Encoded records")
struct RecordEncodingTests {
    private let layout = RecordLayout(kinds: AttributeKind.allCases + AttributeKind.allCases)
    private let values: [Value] = [
        .bool(true), .int(-5), .double(0.1), .string("caf\u{e9}\0"), .date(Date(timeIntervalSinceReferenceDate: 7.25)),
        .uuid(UUID()), .data(Data([0, 1, 255])), .strings(["", "a\0b", "\u{1f600}"]), .links([UUID()]),
        .null, .null, .null, .null, .null, .null, .null, .null, .null,
    ]

    @Test func valuesComeBackAndEqualRecordsHaveEqualBytes() throws {
        let record = try EncodedRecord(values, layout: layout)
        #expect(try record.values(layout) == values)
        #expect(try EncodedRecord(values, layout: layout).bytes == record.bytes)
        let checked = try record.bytes.withUnsafeBytes { bytes in
            let view = try RecordView(validating: bytes, layout: layout)
            return try layout.kinds.indices.map { try view.value(at: $0) }
        }
        #expect(checked == values)
    }

    @Test func everyTruncationIsAnErrorValue() throws {
        let record = try EncodedRecord(values, layout: layout)
        for length in 0..<record.bytes.count {
            let bytes = Array(record.bytes.prefix(length))
            let error = #expect(throws: HabitStoreError.self) { try read(bytes) }
            #expect(error?.code == .corrupt, "length \(length)")
            // A view that trusts its bytes may be wrong about them, but never reads outside them.
            touchEverything(bytes)
        }
        let longer = record.bytes + [0]
        #expect(throws: HabitStoreError.self) { try read(longer) }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func everyFlippedBitIsAnErrorValue(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let record = try EncodedRecord(values, layout: layout)
        for _ in 0..<1_000 {
            var bytes = record.bytes
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let position = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[position] ^= 1 << UInt8.random(in: 0...7, using: &generator)
            }
            touchEverything(bytes)
            guard bytes != record.bytes else { continue }
            let error = #expect(throws: HabitStoreError.self, "seed \(seed)") { try read(bytes) }
            #expect(error?.code == .corrupt || error?.code == .newerVersion)
        }
    }

    @Test func aRecordOfAnotherLayoutIsRefused() throws {
        let record = try EncodedRecord(values, layout: layout)
        let other = RecordLayout(kinds: [.uuid])
        #expect(throws: HabitStoreError.self) {
            try record.bytes.withUnsafeBytes { _ = try RecordView(validating: $0, layout: other) }
        }
    }

    @Test func aModelThatWritesSomethingElseIsCaught() throws {
        let layout = RecordLayout(kinds: [.uuid, .int])
        #expect(throws: HabitStoreError.self) { try EncodedRecord([.uuid(UUID())], layout: layout) }
        #expect(throws: HabitStoreError.self) { try EncodedRecord([.uuid(UUID()), .bool(true)], layout: layout) }
        #expect(throws: HabitStoreError.self) { try EncodedRecord([.uuid(UUID()), .int(1), .int(2)], layout: layout) }
    }

    private func read(_ bytes: [UInt8]) throws -> [Value] {
        try bytes.withUnsafeBytes { bytes in
            let view = try RecordView(validating: bytes, layout: layout)
            return try layout.kinds.indices.map { try view.value(at: $0) }
        }
    }

    /// Reads everything in every way, and accepts any `HabitStoreError`.
    private func touchEverything(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            let view = RecordView(trusting: bytes, layout: layout)
            var reader = view.reader
            for (position, kind) in layout.kinds.enumerated() {
                let reads: [() throws -> Void] = [
                    { _ = try view.value(at: position) }, { _ = try view.rawBytes(at: position) },
                    { _ = try reader.nextValue(of: kind) },
                ]
                for read in reads {
                    do {
                        try read()
                    } catch {
                        #expect((error as? HabitStoreError)?.code == .corrupt)
                    }
                }
            }
        }
    }
}
