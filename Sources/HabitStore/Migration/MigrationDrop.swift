/// Something that a stage removes from a store for good: an attribute, or an entity with all its records.
public struct MigrationDrop: Sendable, Hashable, Codable {
    /// The entity's name before the stage.
    public let entity: String
    /// The attribute's name; nil where the whole entity goes.
    public let attribute: String?
    /// How many records have a value there: one that is neither nil, nor empty, nor the default that the older version
    /// declares. Of an entity that goes, how many records it has.
    public internal(set) var records: Int

    init(entity: String, attribute: String?) { (self.entity, self.attribute, records) = (entity, attribute, 0) }
}

extension MigrationDrop: CustomStringConvertible {
    /// For people: `Note.rank, with a value in 3 records`.
    public var description: String {
        let count = "\(records) \(records == 1 ? "record" : "records")"
        return attribute.map { "\(entity).\($0), with a value in \(count)" } ?? "\(entity), with \(count)"
    }
}
