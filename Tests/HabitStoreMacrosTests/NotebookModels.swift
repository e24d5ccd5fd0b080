import Foundation
import HabitStoreMacros

enum Mood: String, AttributeEnum { case good, bad }

struct Style: Codable, Sendable, Equatable {
    var theme = "light"
    var sizes: [Int] = []
}

/// A type that rejects the values that probing invents.
struct Percentage: Codable, Sendable, Equatable {
    struct OutOfRange: Error {}
    let value: Int

    init(_ value: Int) { self.value = value }

    init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(Int.self)
        guard value >= 50 else { throw OutOfRange() }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

struct Flags: OptionSet, Codable, Sendable {
    let rawValue: Int
    static let pinned = Flags(rawValue: 1)
}

/// Models with everything that a model can have.
enum NotebookSchema: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self, Notebook.self, Label.self]

    @Model struct Note {
        @Unique var slug: String
        var body = ""
        @Attribute(.preserveValueOnDeletion, originalName: "heading") var title = "untitled"
        var rank: Int? = 7
        var ratio = -1.5
        var bytes = Data([1])
        @Attribute(initial: Date()) var createdAt: Date = .distantPast
        var mood = Mood.good
        var feeling: Mood?
        var style = Style()
        var otherStyle: Style?
        var numbers: [Int] = []
        var progress = Percentage(50)
        var flags: Flags = []
        var words: [String]?
        var `default`: Bool = true
        @Transient var isSelected = false
        @ToOne var notebook: Notebook?
        @ToOne(through: "above") var parent: Note?
        @ToMany(inverse: \Note.parent, deleteRule: .cascade) var children: [Note]
        @ManyToMany var labels: [Label]
        @ManyToMany(through: "seeAlso") var related: [Note]
        @ManyToMany(inverse: \Note.related) var relatedFrom: [Note]
        #Index<Note>([\.notebookID, \.createdAt], [\.mood])
        #ClusteringIndex<Note>([\.createdAt])
        #Unique<Note>([\.title, \.notebookID])

        /// Computed, and so not stored.
        var heading: String { title.uppercased() }
    }

    @Model(name: "Book", originalName: "Folder") struct Notebook {
        var id: UUID
        @Attribute(.unique) var name: String
        @ToMany(inverse: \Note.notebook, deleteRule: .deny) var notes: [Note]
    }

    @Model struct Label {
        var name: String
        @ManyToMany(inverse: \Note.labels) var notes: [Note]
    }
}

/// The previous version.
enum FolderSchema: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self, Folder.self]

    @Model struct Note {
        @Unique var slug: String
        var heading: String
        @ToOne(through: "notebookID") var folder: Folder?
    }

    @Model struct Folder {
        @Unique var name: String
        @ToMany(inverse: \Note.folder) var notes: [Note]
    }
}

enum NotebookPlan: SchemaMigrationPlan {
    static let schemas: [any VersionedSchema.Type] = [FolderSchema.self, NotebookSchema.self]
    static let stages = [
        MigrationStage.lightweight(fromVersion: FolderSchema.self, toVersion: NotebookSchema.self)
    ]
}

enum RepeatRule: String, AttributeEnum { case none, daily }

enum PlainNote: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    @Model struct Note {
        var title: String
    }
}

enum RepeatedNote: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    @Model struct Note {
        var title: String
        var rule: RepeatRule = .none
        var other: RepeatRule? = .daily
    }
}

enum RepeatedNotePlan: SchemaMigrationPlan {
    static let schemas: [any VersionedSchema.Type] = [PlainNote.self, RepeatedNote.self]
    static let stages = [MigrationStage.lightweight(fromVersion: PlainNote.self, toVersion: RepeatedNote.self)]
}

/// The same version three times, with three types that are encoded as JSON.
enum OldPlace: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    struct Place: Codable, Equatable { var town: String }
    @Model struct Note { var place: Place }
}

enum RenamedPlace: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    struct Place: Codable, Equatable { var city: String? }
    @Model struct Note { var place: Place }
}

enum StricterPlace: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    struct Place: Codable, Equatable { var town, country: String }
    @Model struct Note { var place: Place }
}

/// Relationships of which neither side names the other.
enum OneSided: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Person.self, Pet.self]

    @Model struct Person {
        @ManyToMany var pets: [Pet]
    }

    @Model struct Pet {
        @ToOne var owner: Person?
        @ManyToMany var friends: [Person]
    }
}
