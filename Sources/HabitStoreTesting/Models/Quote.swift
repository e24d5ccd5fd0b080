import Foundation
import HabitStore

/// A record with attributes stored as JSON or in the app's own encoding, whose values may not be read back equal.
struct Quote: PersistentModel {
    /// A `Codable` value that contains others.
    struct Terms: Codable, Sendable, Equatable {
        var rate: Decimal = 1
        var page: URL?
        /// Compared, but not encoded.
        var draft = ""

        private enum CodingKeys: String, CodingKey { case rate, page }
    }

    /// A type with a custom encoding, which drops the fraction.
    struct Degrees: AttributeConvertible, Codable, Equatable {
        var value: Double

        static var attributeKind: AttributeKind { .int }
        static func probe(position: Int) -> Value { .int(Int64(position)) }

        init(_ value: Double) { self.value = value }

        init?(attributeValue: Value) {
            guard case .int(let number) = attributeValue, number < 1_000 else { return nil }
            value = Double(number)
        }

        func attributeValue() -> Value { .int(Int64(value)) }
    }

    var id = UUID()
    var amount: Decimal = 1
    var link: URL?
    var terms = Terms()
    var warmth = Degrees(20)

    init() {}

    static let entity = EntityDescription(
        Quote.self,
        attributes: [
            .id(\Quote.id), .json("amount", \Quote.amount), .json("link", \Quote.link), .json("terms", \Quote.terms),
            .attribute("warmth", \Quote.warmth),
        ]
    )
    static let schema = Schema([Quote.self])

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        amount = try row.next(JSONAttribute<Decimal>.self).wrappedValue
        link = try row.next(JSONAttribute<URL>?.self)?.wrappedValue
        terms = try row.next(JSONAttribute<Terms>.self).wrappedValue
        warmth = try row.next()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        try row.append(converting: JSONAttribute(wrappedValue: amount))
        try row.append(converting: link.map { JSONAttribute(wrappedValue: $0) })
        try row.append(converting: JSONAttribute(wrappedValue: terms))
        try row.append(converting: warmth)
    }
}
