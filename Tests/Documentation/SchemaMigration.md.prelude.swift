import HabitStoreMacros
import HabitStoreSQLite

enum NotesV1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    @Model struct Note {
        var text: String
    }
}

enum NotesV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    @Model struct Note {
        var text: String
    }
}

enum NotesV3: VersionedSchema {
    static let versionIdentifier = Schema.Version(3, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    struct Place: Codable, Equatable {
        var latitude = 0.0
        var longitude = 0.0
    }

    @Model struct Note {
        var text: String
        var place = Place()
    }
}

enum NotesV4: VersionedSchema {
    static let versionIdentifier = Schema.Version(4, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    @Model struct Note {
        var text: String
        var position = Position()
    }
}

struct Position: Codable, Equatable {
    var degrees = [0.0, 0.0]

    init() {}

    init(_ place: NotesV3.Place) { degrees = [place.latitude, place.longitude] }
}

let path = "notes.sqlite"
