import Foundation
import HabitStoreTesting
import Testing

@testable import HabitStoreImport

@Suite struct ModelArchiveTests {
    @Test func aModelIsReadRawInZlibAndPlain() {
        let model = CoreDataFixture.libraryModel
        #expect(ArchivedModel(model.cache)?.entities.count == 5)
        #expect(ArchivedModel(model.archive)?.entities.count == 5)
    }

    @Test func aFewBytesThatStandForGigabytesAreGivenUp() {
        let bomb = FixtureModel.deflated(Data(count: 80 << 20))
        #expect(bomb.count < 200_000)
        #expect(Inflation.inflate(bomb, .none, limit: 64 << 20) == nil)
        #expect(ArchivedModel(bomb) == nil)
    }

    @Test func whatIsCutShortOrChangedIsNoModelAndNoCrash() {
        let archive = [UInt8](CoreDataFixture.libraryModel.archive)
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        var read = 0
        for round in 0..<400 {
            var bytes = archive
            if round % 4 == 0 { bytes.removeLast(Int.random(in: 1..<bytes.count, using: &generator)) }
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(
                    in: .min ... .max,
                    using: &generator
                )
            }
            if let model = ArchivedModel(Data(bytes)) {
                read += model.entities.count
            }
        }
        #expect(read > 0, "seed \(seed): no changed archive was read at all")
    }

    @Test func aListThatLeadsToItselfEnds() {
        let loop = PlistValue.dictionary([
            ("$top", .dictionary([("root", .uid(1))])),
            (
                "$objects",
                .array([
                    .string("$null"), .dictionary([("NSEntities", .uid(2))]),
                    .dictionary([("values", .uid(2)), ("NS.objects", .array([.uid(2), .uid(1)]))]),
                ])
            ),
        ])
        #expect(ArchivedModel(loop.bytes) == nil)
    }

    @Test func aCompositeOfItselfEnds() throws {
        let objects: [PlistValue] = [
            .string("$null"), .dictionary([("NSEntities", .uid(2))]), .dictionary([("NS.objects", .array([.uid(3)]))]),
            .dictionary([("NSEntityName", .uid(4)), ("NSProperties", .uid(5))]), .string("Loop"),
            .dictionary([("NS.objects", .array([.uid(6)]))]),
            .dictionary([
                ("NSPropertyName", .uid(4)), ("NSAttributeType", .int(2_100)), ("NSElements", .uid(7)),
            ]),
            .dictionary([("NS.objects", .array(Array(repeating: .uid(6), count: 50)))]),
        ]
        let list = PlistValue.dictionary([
            ("$top", .dictionary([("root", .uid(1))])), ("$objects", .array(objects)),
        ])
        #expect(ArchivedModel(list.bytes)?.entities.map(\.name) == ["Loop"])
    }

    @Test func defaultsOfAllKindsAreWords() throws {
        let model = FixtureModel(entities: [
            .init(
                name: "Thing",
                attributes: [
                    .init(name: "a", type: 300, defaultValue: .int(-7)),
                    .init(name: "b", type: 700, defaultValue: .string("ö")),
                    .init(name: "c", type: 500, defaultValue: .real(0.5)),
                    .init(name: "d", type: 900, defaultValue: .dictionary([("NS.time", .real(3.5))])),
                ]
            )
        ])
        let thing = try #require(ArchivedModel(model.cache)?.entities.first)
        let words = thing.properties.compactMap { property -> String? in
            guard case .attribute(let attribute) = property else { return nil }
            return attribute.defaultValue
        }
        #expect(words == ["-7", "\"ö\"", "0.5", "3.5 seconds since 2001"])
    }
}
