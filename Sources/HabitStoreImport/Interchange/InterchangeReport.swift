import HabitStore

/// The result of importing an export.
public struct InterchangeReport: Sendable, Codable, Equatable {
    /// The record counts of an entity.
    public struct Count: Sendable, Codable, Equatable {
        /// The entity.
        public let entity: String
        /// Records in the export.
        public var inSource = 0
        /// Records added to the store.
        public var added = 0
        /// Records that were already in the store and equal.
        public var known = 0
        /// Records that were already in the store and differ; they are kept unless updates were requested.
        public var differing = 0
    }

    enum Standing {
        case new
        case same
        case different
    }

    /// The format of the export.
    public let format: InterchangeFormat
    /// The path of the export.
    public let path: String
    /// The counts of each entity.
    public var entities: [Count]
    /// The number of dangling references that were removed.
    public var cut = 0
    /// The file with the removed references; nil if there are none.
    public var attachment: String?
    /// The number of records that differ from the export when read back after the import; nil for a rehearsal.
    public var differences: Int?

    init(_ work: InterchangeImport, _ schema: Schema, _ survey: InterchangeSurvey) {
        format = work.format
        path = work.source.path
        entities = zip(schema.entities, survey.counts).map { Count(entity: $0.name, inSource: $1) }
    }

    mutating func note(_ entity: Int, _ standing: Standing) {
        switch standing {
        case .new: entities[entity].added += 1
        case .same: entities[entity].known += 1
        case .different: entities[entity].differing += 1
        }
    }
}
