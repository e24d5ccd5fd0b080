import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreLMDB
@testable import OrderedKeys

@Suite("LMDB index keys")
struct LMDBIndexKeyTests {
    private func key(_ layout: IndexKeyLayout, _ note: LMDBNote, _ buffer: IndexKeyBuffer) throws -> [UInt8] {
        let record = try encoded(note)
        return try record.withView(LMDBNote.entity.layout) { view in
            try withUnsafeBytes(of: note.id.uuid) { try buffer.make(layout, view, id: $0) }
            return Array(buffer.key)
        }
    }

    private func encoded(_ note: LMDBNote) throws -> EncodedRecord {
        var writer = AttributeWriter(layout: LMDBNote.entity.layout)
        try note.write(to: &writer)
        return try writer.finish { EncodedRecord(copying: $0) }
    }

    private func sign(_ number: Int) -> Int { number < 0 ? -1 : (number > 0 ? 1 : 0) }

    private func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left.lexicographicallyPrecedes(right) ? -1 : (left == right ? 0 : 1)
    }

    @Test(arguments: [21, 22, 23] as [UInt64])
    func bytesAreOrderedAsValuesAre(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let notes = (0..<150).map { _ in LMDBNoteSample.note(&random) }
        let values = try notes.map { try encoded($0).values(LMDBNote.entity.layout) }
        let buffer = IndexKeyBuffer()
        for index in LMDBNote.entity.indexes where !index.attributes.contains("links") {
            let keyLayout = try IndexKeyLayout(index, of: LMDBNote.entity)
            let keys = try notes.map { note in
                let key = try key(keyLayout, note, buffer)
                #expect(key.count <= 511, "seed \(seed)")
                return (bytes: Array(key.dropLast(16)), isCut: buffer.isCut)
            }
            let positions = keyLayout.parts.map(\.position)
            var cutPairs = 0
            for (left, leftValues) in zip(keys, values) {
                for (right, rightValues) in zip(keys, values) {
                    let orders = positions.lazy.map { leftValues[$0].order(comparedWith: rightValues[$0]) }
                    if sign(orders.first { $0 != 0 } ?? 0) == order(left.bytes, right.bytes) { continue }
                    // Only if a text was cut may the bytes leave the order to the identifiers, or to what follows the cut.
                    cutPairs += 1
                    #expect(left.isCut && right.isCut, "seed \(seed), \(index.attributes)")
                    let cut = try left.bytes.withUnsafeBytes { try keyLayout.endOfFirstCut($0, from: 0, at: 0) }
                    let end = try #require(cut)
                    #expect(left.bytes.prefix(end) == right.bytes.prefix(end), "seed \(seed), \(index.attributes)")
                }
            }
            if index.attributes.contains("title") { #expect(cutPairs > 0, "cut texts were not met, seed \(seed)") }
        }
    }

    @Test func theBytesAreTheDocumentedOnes() throws {
        let buffer = IndexKeyBuffer()
        let id = Array(repeating: UInt8(0), count: 15) + [7]
        var note = LMDBNote()
        note.id = LMDBNoteSample.small(7)
        note.title = "a\0b"
        note.rank = -2
        note.weight = -1.5
        note.isDone = true
        note.stamp = Date(timeIntervalSinceReferenceDate: 1)
        func key(_ names: String...) throws -> [UInt8] {
            let index = LMDBNote.entity.indexes.first { $0.attributes == names }
            return try self.key(IndexKeyLayout(try #require(index), of: LMDBNote.entity), note, buffer)
        }
        #expect(try key("title") == [1, 0x61, 0, 0xFF, 0x62, 0, 0] + id)
        #expect(try key("rank", "subtitle") == [1, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE, 0] + id)
        #expect(try key("weight") == [1, 0x40, 0x07, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] + id)
        #expect(try key("isDone", "stamp") == [1, 1, 1, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0] + id)
        note.title = String(repeating: "x", count: 1_000)
        #expect(try key("title") == [1] + Array(repeating: 0x78, count: 492) + [0, 1] + id)
        note.title = String(repeating: "x", count: 491) + "\0"
        #expect(try key("title") == [1] + Array(repeating: 0x78, count: 491) + [0, 1] + id)
        note.title = String(repeating: "x", count: 492)
        #expect(try key("title") == [1] + Array(repeating: 0x78, count: 492) + [0, 0] + id)
    }

    @Test func whatCannotBeAKeyIsRefused() throws {
        let draft = EntityDescription(
            Draft.self,
            attributes: Draft.entity.attributes,
            indexes: [IndexDescription("attachments")]
        )
        #expect(throws: HabitStoreError.self) { try IndexKeyLayout(draft.indexes[0], of: draft) }
        let many = LMDBNote.declared([
            IndexDescription(
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title",
                "title"
            )
        ])
        #expect(throws: HabitStoreError.self) { try IndexKeyLayout(many.indexes[0], of: many) }
    }

    @Test func bytesThatAreNoKeyAreAnErrorValue() throws {
        let layout = try IndexKeyLayout(LMDBNote.entity.indexes[1], of: LMDBNote.entity)
        var random = SeededGenerator(seed: 31)
        var refused = 0
        for _ in 0..<5_000 {
            var bytes = random.bytes(Int.random(in: 0..<60, using: &random))
            for place in bytes.indices where Bool.random(using: &random) { bytes[place] &= 1 }
            do {
                let end = try bytes.withUnsafeBytes { try layout.endOfFirstCut($0, from: 0, at: 0) }
                if let end { #expect(end <= bytes.count) }
            } catch {
                #expect((error as? HabitStoreError)?.code == .corrupt)
                refused += 1
            }
        }
        #expect(refused > 1_000)
    }

    @Test func unionsAndIntersectionsOfRangesAreThoseOfTheirKeys() {
        var random = SeededGenerator(seed: 41)
        func range() -> KeyRange {
            let lower = random.bytes(Int.random(in: 0...1, using: &random)).map { $0 % 8 }
            let upper = Bool.random(using: &random) ? nil : [UInt8.random(in: 0..<8, using: &random)]
            return KeyRange(lower: lower, upper: upper)
        }
        func holds(_ ranges: [KeyRange], _ key: [UInt8]) -> Bool {
            ranges.contains { range in
                !key.lexicographicallyPrecedes(range.lower)
                    && range.upper.map { key.lexicographicallyPrecedes($0) } ?? true
            }
        }
        let keys: [[UInt8]] = [[]] + (0..<9 as Range<UInt8>).flatMap { byte -> [[UInt8]] in [[byte], [byte, 0]] }
        for _ in 0..<2_000 {
            let left = (0..<Int.random(in: 0...3, using: &random)).map { _ in range() }
            let right = (0..<Int.random(in: 0...3, using: &random)).map { _ in range() }
            let union = KeyRange.union(left + right)
            let intersection = KeyRange.intersection(KeyRange.union(left), KeyRange.union(right))
            for key in keys {
                #expect(holds(union, key) == (holds(left, key) || holds(right, key)))
                #expect(holds(intersection, key) == (holds(left, key) && holds(right, key)))
            }
            for ranges in [union, intersection] {
                for (range, next) in zip(ranges, ranges.dropFirst()) {
                    #expect(!next.lower.lexicographicallyPrecedes(range.upper ?? [0xFF, 0xFF]))
                }
            }
        }
    }
}
