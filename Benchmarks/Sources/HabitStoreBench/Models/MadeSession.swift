import HabitStoreMacros

/// How a session felt.
enum Feeling: String, AttributeEnum, Codable {
    case good, bad
}

/// Twelve attributes, by the macro: what ``WrittenSession`` says in words.
@Model struct MadeSession {
    @Unique var code: String
    var title = ""
    @Attribute(.preserveValueOnDeletion, initial: Date()) var startedAt: Date
    var endedAt: Date?
    var isPaused = false
    var repetitions = 0
    var weight: Double?
    var note: String?
    var feeling = Feeling.good
    var words: [String] = []
    @ToOne var owner: MadeOwner?
    #ClusteringIndex<MadeSession>([\.ownerID, \.startedAt])
    #Index<MadeSession>([\.title])
}

/// Whose sessions they are.
@Model struct MadeOwner {
    var name: String
    @ToMany(inverse: \MadeSession.owner, deleteRule: .cascade) var sessions: [MadeSession]
}
