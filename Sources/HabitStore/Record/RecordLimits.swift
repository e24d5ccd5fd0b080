import Foundation

/// The maximum sizes of an entity's values in bytes: the same for all engines.
///
/// They are below the engines' own limits: SQLite's rows have at most 1,000,000,000 bytes, PostgreSQL's values and messages
/// slightly more, and the offsets in an encoded record have 32 bits. Values that are stored as JSON anywhere, where a byte can
/// become six, are limited to a sixth.
package struct RecordLimits: Sendable {
    /// The most bytes of a record, and so of a value.
    package static let largestRecord = 500_000_000
    /// How many bytes of JSON one byte can become, as `\u0000` does.
    private static let growthInJSON = 6

    /// The entity and its attributes, for errors.
    private let entity: String?
    private let attributes: [String]
    private let record: Int
    /// Whether an attribute's values are written as JSON: lists of texts, and what is preserved on deletion.
    private let isJSON: [Bool]

    /// Limits of records whose entity is not known.
    init() { (entity, attributes, record, isJSON) = (nil, [], Self.largestRecord, []) }

    init(_ entity: String, _ attributes: [AttributeDescription], record: Int = Self.largestRecord) {
        (self.entity, self.record) = (entity, record)
        self.attributes = attributes.map(\.name)
        isJSON = attributes.map { $0.kind == .strings || $0.preservesValueOnDeletion }
    }

    /// Bytes that a record may have in any case, so that those of nearly all need not be looked at.
    var unquestioned: Int { record / Self.growthInJSON }

    private func limit(at position: Int) -> Int {
        isJSON.indices.contains(position) && isJSON[position] ? unquestioned : record
    }

    /// Whether a value is too large, or makes its record so.
    func isExceeded(byValueOf count: Int, at position: Int, recordBytes: Int) -> Bool {
        count > limit(at: position) || recordBytes > record
    }

    /// The error for a value that is too large, or makes its record so.
    func error(valueOf count: Int, at position: Int, recordBytes: Int, id: UUID?) -> HabitStoreError {
        let attribute = attributes.indices.contains(position) ? attributes[position] : nil
        let title = "\(entity.map { "\($0)." } ?? "")\(attribute ?? "attribute \(position + 1)")"
        let limit = limit(at: position)
        let excess =
            count > limit
            ? "\(title) has \(count) bytes, and \(limit < record ? "a value that is also kept as JSON" : "a value") may have \(limit)"
            : "with the \(count) bytes of \(title) the record has \(recordBytes), and a record may have \(record)"
        return HabitStoreError(
            .limitExceeded,
            "\(excess); keep what is so large in a file, and its name in the store",
            at: .init(entity: entity, attribute: attribute, id: id)
        )
    }
}
