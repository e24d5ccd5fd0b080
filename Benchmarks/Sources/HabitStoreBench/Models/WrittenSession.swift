import Foundation
import HabitStore

/// Eleven attributes and the identifier, hand-written: what the macro generates for ``MadeSession``.
struct WrittenSession: PersistentModel {
    var id: UUID
    var code: String
    var title: String
    var startedAt: Date
    var endedAt: Date?
    var isPaused: Bool
    var repetitions: Int
    var weight: Double?
    var note: String?
    var feeling: Feeling
    var words: [String]
    var ownerID: UUID?

    init(
        id: UUID = UUID(),
        code: String,
        title: String = "",
        startedAt: Date = Date(),
        endedAt: Date? = nil,
        isPaused: Bool = false,
        repetitions: Int = 0,
        weight: Double? = nil,
        note: String? = nil,
        feeling: Feeling = .good,
        words: [String] = [],
        ownerID: UUID? = nil
    ) {
        self.id = id
        self.code = code
        self.title = title
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.isPaused = isPaused
        self.repetitions = repetitions
        self.weight = weight
        self.note = note
        self.feeling = feeling
        self.words = words
        self.ownerID = ownerID
    }

    var owner: WrittenOwner? { RelationshipScope.one(\WrittenSession.owner, ownerID) }

    static let entity = EntityDescription(
        WrittenSession.self,
        attributes: [
            .id(\WrittenSession.id),
            .attribute("code", \WrittenSession.code, .unique),
            .attribute("title", \WrittenSession.title, default: ""),
            .attribute("startedAt", \WrittenSession.startedAt, .preserveValueOnDeletion),
            .attribute("endedAt", \WrittenSession.endedAt),
            .attribute("isPaused", \WrittenSession.isPaused, default: false),
            .attribute("repetitions", \WrittenSession.repetitions, default: 0),
            .attribute("weight", \WrittenSession.weight),
            .attribute("note", \WrittenSession.note),
            .attribute("feeling", \WrittenSession.feeling, default: .good),
            .attribute("words", \WrittenSession.words, default: []),
            .attribute("ownerID", \WrittenSession.ownerID),
        ],
        relationships: [
            .toOne("owner", \WrittenSession.owner, through: \WrittenSession.ownerID, inverse: \WrittenOwner.sessions)
        ],
        indexes: [
            .index(\WrittenSession.ownerID, \WrittenSession.startedAt).clustering(), .index(\WrittenSession.title),
        ]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        code = try row.nextString()
        title = try row.nextString()
        startedAt = try row.nextDate()
        endedAt = try row.nextOptionalDate()
        isPaused = try row.nextBool()
        repetitions = try row.nextInt()
        weight = try row.nextOptionalDouble()
        note = try row.nextOptionalString()
        feeling = try row.next()
        words = try row.nextStrings()
        ownerID = try row.nextOptionalUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(code)
        row.append(title)
        try row.append(startedAt)
        try row.append(endedAt)
        row.append(isPaused)
        row.append(repetitions)
        try row.append(weight)
        row.append(note)
        try row.append(converting: feeling)
        row.append(words)
        row.append(ownerID)
    }
}

/// The owner of sessions.
struct WrittenOwner: PersistentModel {
    var id: UUID
    var name: String

    init(id: UUID = UUID(), name: String) { (self.id, self.name) = (id, name) }

    var sessions: [WrittenSession] { RelationshipScope.many(\WrittenOwner.sessions, of: id) }

    static let entity = EntityDescription(
        WrittenOwner.self,
        attributes: [.id(\WrittenOwner.id), .attribute("name", \WrittenOwner.name)],
        relationships: [
            .toMany("sessions", \WrittenOwner.sessions, inverse: \WrittenSession.owner, deleteRule: .cascade)
        ]
    )

    init(row: inout AttributeReader) throws { (id, name) = (try row.nextUUID(), try row.nextString()) }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(name)
    }
}
