import HabitStore

/// What an import of an export did.
public struct InterchangeReport: Sendable, Codable, Equatable {
    /// How many records of an entity there were.
    public struct Count: Sendable, Codable, Equatable {
        /// The entity.
        public let entity: String
        /// In the export.
        public var inSource = 0
        /// New here.
        public var added = 0
        /// Here already, and the same.
        public var known = 0
        /// Here already, and different: left as they are, unless they were to be taken over.
        public var differing = 0
    }

    enum Standing {
        case new
        case same
        case different
    }

    /// The form of the export.
    public let format: InterchangeFormat
    /// Where it is.
    public let path: String
    /// The entities.
    public var entities: [Count]
    /// References that lead nowhere, and were cut.
    public var cut = 0
    /// The file in which these are kept; nil when there are none.
    public var attachment: String?
    /// How many records are not here as they are in the export, read back after the import; nil for a rehearsal.
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
