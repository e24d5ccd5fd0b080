/// Everything that can be said of a Core Data file without changing it: its model, its counts, its history, its oddities.
public struct CoreDataInspection: Sendable, Encodable {
    /// An entity and how many records it has.
    public struct Entity: Sendable, Encodable {
        /// The entity.
        public let entity: CoreDataEntity
        /// Its own records; those of the entities that inherit from it are not among them.
        public let count: Int

        /// Writes the entity's own keys, and the count beside them.
        public func encode(to encoder: any Encoder) throws {
            try entity.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(count, forKey: .count)
        }

        private enum CodingKeys: String, CodingKey { case count }
    }

    /// The file.
    public let path: String
    /// What kind of file it is, for programs: `coreData`.
    public let kind = "coreData"
    /// What the file says about itself.
    public let metadata: CoreDataMetadata
    /// Where the model was read.
    public let modelOrigin: CoreDataModel.Origin
    /// The entities, by their numbers.
    public let entities: [Entity]
    /// The history; nil when the file keeps none.
    public let history: CoreDataHistory?
    /// What is missing, guessed, dangling, or not as it usually is.
    public let oddities: [CoreDataOddity]

    /// Looks at a whole file, at every value of it.
    ///
    /// - Parameter progress: is told now and then how many records were looked at, of how many; a throw ends it.
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
