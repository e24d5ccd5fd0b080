import Foundation
import Testing

@testable import HabitStore

/// Models with `Codable` attributes are checked without any help from their types.
struct JSONSampleTests {
    private struct Everything: Codable, Sendable, Equatable {
        enum Colour: String, Codable, CaseIterable { case red, green }
        struct Inner: Codable, Sendable, Equatable {
            var flag: Bool
            var ratio: Double
            var small: Int8
            var when: Date
        }
        var text: String
        var inner: Inner
        var list: [Inner]
        var map: [String: Int]
        var colour: Colour
        var link: URL
        var id: UUID
        var bytes: Data
        var maybe: String?
    }

    private struct Refusing: Codable, Sendable, Equatable {
        struct Refusal: Error {}
        init(from decoder: any Decoder) throws { throw Refusal() }
        func encode(to encoder: any Encoder) throws {}
    }

    private final class Endless: Codable, Sendable, Equatable {
        let next: Endless
        init(next: Endless) { self.next = next }
        static func == (left: Endless, right: Endless) -> Bool { left === right }
    }

    @Test func samplesOfDifferentPositionsDiffer() throws {
        let samples = try (0..<8).map { try #require(JSONSample.make(Everything.self, $0)) }
        for (place, sample) in samples.enumerated() {
            #expect(!samples[..<place].contains(sample))
            #expect(sample.list.count == 1 && sample.text == "field \(place)")
        }
        #expect(samples[1].colour == .green && samples[1].inner.flag)
        #expect(JSONSample.make([Int].self, 3) == [3])
        #expect(JSONSample.make(Int8.self, 300) == 44)
    }

    @Test func aTypeThatRefusesMadeUpValuesHasNone() {
        #expect(JSONSample.make(Refusing.self, 0) == nil)
        #expect(JSONSample.make(Endless.self, 0) == nil)
        #expect(JSONAttribute<Refusing>.probe(position: 0).isNull)
    }

    private struct Settings: Codable, Sendable, Equatable {
        var theme: String
    }

    /// A model whose code and declaration exchange two attributes of the same `Codable` type.
    private struct Exchanged: PersistentModel {
        var id: UUID
        var first: Settings
        var second: Settings?

        static let entity = EntityDescription(
            Exchanged.self,
            attributes: [
                .id(\Exchanged.id), .json("first", \Exchanged.first), .json("second", \Exchanged.second),
            ]
        )

        init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            let (one, other) = (try row.next(JSONAttribute<Settings>.self), try row.next(JSONAttribute<Settings>?.self))
            (first, second) = (other?.wrappedValue ?? one.wrappedValue, one.wrappedValue)
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            try row.append(converting: JSONAttribute(wrappedValue: second ?? first))
            try row.append(converting: JSONAttribute(wrappedValue: first))
        }
    }

    private struct Unsampled: PersistentModel {
        var id: UUID
        var refusing: Refusing

        static let entity = EntityDescription(
            Unsampled.self,
            attributes: [.id(\Unsampled.id), .json("refusing", \Unsampled.refusing)]
        )

        init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            refusing = try row.next(JSONAttribute<Refusing>.self).wrappedValue
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            try row.append(converting: JSONAttribute(wrappedValue: refusing))
        }
    }

    @Test func exchangedCodableAttributesAreFound() {
        let error = #expect(throws: HabitStoreError.self) { try Schema([Exchanged.self]).validate() }
        #expect(error?.message.contains("first") == true)
    }

    @Test func aSchemaWithoutASampleOfAnAttributeIsRefusedWithWhatToDo() {
        let error = #expect(throws: HabitStoreError.self) { try Schema([Unsampled.self]).validate() }
        #expect(error?.message.contains("Unsampled.refusing; give it a default") == true)
    }
}
