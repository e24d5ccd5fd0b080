import Foundation
import HabitStore

/// A CSV column or a JSON member: an attribute, or the exact number of a date attribute.
struct InterchangeColumn: Equatable {
    let name: String
    /// The index of the attribute.
    let attribute: Int
    let kind: AttributeKind
    let isOptional: Bool
    /// Whether it holds a date's exact seconds since 2001-01-01 UTC, in addition to the date as text.
    let isExact: Bool

    private static let suffix = "Reference"

    /// The columns of an entity, in the order of its attributes.
    static func all(of entity: EntityDescription) -> [InterchangeColumn] {
        let names = Set(entity.attributes.map(\.name))
        return entity.attributes.enumerated().flatMap { position, attribute -> [InterchangeColumn] in
            let column = InterchangeColumn(
                name: attribute.name,
                attribute: position,
                kind: attribute.kind,
                isOptional: attribute.isOptional,
                isExact: false
            )
            guard attribute.kind == .date else { return [column] }
            var name = attribute.name + suffix
            while names.contains(name) { name += "_" }
            let exact = InterchangeColumn(
                name: name,
                attribute: position,
                kind: .double,
                isOptional: true,
                isExact: true
            )
            return [column, exact]
        }
    }

    /// The date from its two columns. The exact number applies unless the text was edited.
    static func date(words: String?, exact: Double?) -> Value? {
        guard let exact, exact.isFinite else { return words.flatMap(InstantText.parse).map { .date($0) } }
        let date = Date(timeIntervalSinceReferenceDate: exact)
        guard let words, words != InstantText.text(date) else { return .date(date) }
        return InstantText.parse(words).map { .date($0) }
    }
}
