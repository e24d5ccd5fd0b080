import Foundation
import HabitStore

/// A model whose clause chooses the names of its entity, attributes and relationship.
struct OddlyNamed: PersistentModel {
    /// The names.
    struct Names: Sendable {
        var entity = "Odd"
        var text = "text"
        var flag = "flag"
        var reference = "reference"
        var relationship = "other"
    }

    @TaskLocal static var names = Names()

    var id = UUID()
    var text = ""
    var flag = false
    var reference: UUID?

    /// The record that the reference points to.
    var other: OddlyNamed? { RelationshipScope.one(\OddlyNamed.other, reference) }

    static var entity: EntityDescription {
        EntityDescription(
            OddlyNamed.self,
            name: names.entity,
            attributes: [
                .id(\OddlyNamed.id), .attribute(names.text, \OddlyNamed.text), .attribute(names.flag, \OddlyNamed.flag),
                .attribute(names.reference, \OddlyNamed.reference),
            ],
            relationships: [
                .toOne(
                    names.relationship,
                    \OddlyNamed.other,
                    through: names.reference,
                    destination: names.entity,
                    inverse: nil
                )
            ],
            indexes: [.index(\OddlyNamed.text, \OddlyNamed.flag)]
        )
    }

    init(text: String) { self.text = text }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        text = try row.nextString()
        flag = try row.nextBool()
        reference = try row.nextOptionalUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(text)
        row.append(flag)
        row.append(reference)
    }
}
