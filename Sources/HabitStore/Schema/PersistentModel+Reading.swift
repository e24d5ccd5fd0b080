import Foundation

extension PersistentModel {
    /// A record as this model.
    ///
    /// - Throws: what ``init(row:)`` throws; ``HabitStoreError/Code/unreadableValue`` with the entity, the attribute and the
    ///   record.
    @inlinable
    static func read(from row: inout AttributeReader) throws -> Self {
        do {
            return try Self(row: &row)
        } catch {
            throw named(error, row)
        }
    }

    /// The error of reading a record, which does not know which record it was.
    @usableFromInline
    @inline(never)
    static func named(_ error: any Error, _ row: borrowing AttributeReader) -> any Error {
        guard let error = error as? HabitStoreError, error.code == .unreadableValue, error.location.entity == nil else {
            return error
        }
        var place = error.location
        place.entity = entity.name
        // The reader stands after the attribute that it read last.
        let position = row.field - 1
        if place.attribute == nil, entity.attributes.indices.contains(position) {
            place.attribute = entity.attributes[position].name
        }
        place.id = place.id ?? (try? row.identifier())
        let title = entity.name + (place.attribute.map { "." + $0 } ?? "")
        let record = place.id.map { " of record \($0)" } ?? ""
        return HabitStoreError(
            error.code,
            "\(title)\(record): \(error.message)",
            at: place,
            underlying: error.underlying
        )
    }
}
