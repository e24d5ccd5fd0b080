/// A complete read-only report on a Core Data file: its model, counts, history and oddities.
public struct CoreDataInspection: Sendable, Encodable {
    /// An entity and its number of records.
    public struct Entity: Sendable, Encodable {
        /// The entity.
        public let entity: CoreDataEntity
        /// The number of its records, without those of entities that inherit from it.
        public let count: Int

        /// Encodes the entity's keys, and the count along with them.
        public func encode(to encoder: any Encoder) throws {
            try entity.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(count, forKey: .count)
        }

        private enum CodingKeys: String, CodingKey { case count }
    }

    /// The path of the file.
    public let path: String
    /// The kind of file, for programs: `coreData`.
    public let kind = "coreData"
    /// The file's metadata table.
    public let metadata: CoreDataMetadata
    /// Where the model was found.
    public let modelOrigin: CoreDataModel.Origin
    /// The entities in the order of their numbers.
    public let entities: [Entity]
    /// The history; nil if the file has none.
    public let history: CoreDataHistory?
    /// Missing, guessed, dangling or unusual things.
    public let oddities: [CoreDataOddity]

    /// Inspects every value of a file.
    ///
    /// - Parameter progress: called regularly with the number of records inspected and their total; throwing ends the inspection.
    public init(_ file: CoreDataFile, progress: (Int, Int) throws -> Void = { _, _ in }) throws {
        path = file.path
        metadata = file.metadata
        modelOrigin = file.model.origin
        history = file.history
        entities = try file.model.entities.map { Entity(entity: $0, count: try file.count(of: $0)) }
        var check = CoreDataCheck(file)
        try check.run(total: entities.reduce(0) { $0 + $1.count }, progress)
        oddities = file.oddities + check.oddities
    }
}
