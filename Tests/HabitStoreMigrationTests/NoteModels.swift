import Foundation
import HabitStore

/// The versions of a small schema, for testing one rule after the other.
enum NotesV1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self, Author.self]

    struct Note: PersistentModel {
        var id = UUID()
        var title: String?
        var rank: Int
        var obsolete = "x"

        static let entity = EntityDescription(
            Note.self,
            attributes: [
                .id(\Note.id), .attribute("title", \Note.title), .attribute("rank", \Note.rank),
                .attribute("obsolete", \Note.obsolete),
            ]
        )

        init(id: UUID = UUID(), title: String?, rank: Int) { (self.id, self.title, self.rank) = (id, title, rank) }

        init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            title = try row.nextOptionalString()
            rank = try row.nextInt()
            obsolete = try row.nextString()
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(title)
            row.append(rank)
            row.append(obsolete)
        }
    }

    struct Author: PersistentModel {
        var id = UUID()
        var name: String

        static let entity = EntityDescription(
            Author.self,
            attributes: [.id(\Author.id), .attribute("name", \Author.name)]
        )

        init(id: UUID = UUID(), name: String) { (self.id, self.name) = (id, name) }

        init(row: inout AttributeReader) throws { (id, name) = (try row.nextUUID(), try row.nextString()) }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(name)
        }
    }
}

/// The title may no longer be nil, the rank has another name, there is a mood, the authors are people, and there are boxes.
enum NotesV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self, Person.self, Box.self]

    struct Note: PersistentModel {
        var id: UUID
        var place: Int
        var title: String
        var mood: Double?

        static let entity = EntityDescription(
            Note.self,
            attributes: [
                .id(\Note.id), .attribute("place", \Note.place, originalName: "rank"),
                .attribute("title", \Note.title, default: "untitled"), .attribute("mood", \Note.mood),
            ],
            indexes: [.index(\Note.place)]
        )

        init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            place = try row.nextInt()
            title = try row.nextString()
            mood = try row.nextOptionalDouble()
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(place)
            row.append(title)
            try row.append(mood)
        }
    }

    struct Person: PersistentModel {
        var id: UUID
        var name: String

        static let entity = EntityDescription(
            Person.self,
            originalName: "Author",
            attributes: [.id(\Person.id), .attribute("name", \Person.name)]
        )

        init(row: inout AttributeReader) throws { (id, name) = (try row.nextUUID(), try row.nextString()) }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(name)
        }
    }

    struct Box: PersistentModel {
        var id = UUID()

        static let entity = EntityDescription(Box.self, attributes: [.id(\Box.id)])

        init() {}

        init(row: inout AttributeReader) throws { id = try row.nextUUID() }

        func write(to row: inout AttributeWriter) throws { row.append(id) }
    }
}

/// Notes with other attributes than the first version's, for single tests.
enum NotesV3: VersionedSchema {
    static let versionIdentifier = Schema.Version(3, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    /// The title is unique and may not be nil, and has no default; the rank is a text.
    struct Note: PersistentModel {
        var id: UUID
        var title: String
        var rank: String?

        static let entity = EntityDescription(
            Note.self,
            attributes: [
                .id(\Note.id), .attribute("title", \Note.title, .unique), .attribute("rank", \Note.rank),
            ]
        )

        init(row: inout AttributeReader) throws {
            (id, title, rank) = (try row.nextUUID(), try row.nextString(), try row.nextOptionalString())
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(title)
            row.append(rank)
        }
    }
}

/// A plan of one stage between two of the versions.
protocol OneStagePlan: SchemaMigrationPlan {
    static var stage: MigrationStage { get }
}

extension OneStagePlan {
    static var schemas: [any VersionedSchema.Type] { [stage.from, stage.to] }
    static var stages: [MigrationStage] { [stage] }
}
