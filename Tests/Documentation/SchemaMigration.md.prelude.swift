import HabitStoreSQLite

enum NotesV1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    struct Note: PersistentModel {
        var id = UUID()
        var text: String
        static let entity = EntityDescription(Note.self, attributes: [.id(\Note.id), .attribute("text", \Note.text)])
        init(row: inout AttributeReader) throws { (id, text) = (try row.nextUUID(), try row.nextString()) }
        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(text)
        }
    }
}

enum NotesV2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    struct Note: PersistentModel {
        var id = UUID()
        var text: String
        static let entity = EntityDescription(Note.self, attributes: [.id(\Note.id), .attribute("text", \Note.text)])
        init(row: inout AttributeReader) throws { (id, text) = (try row.nextUUID(), try row.nextString()) }
        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(text)
        }
    }
}

enum NotesV3: VersionedSchema {
    static let versionIdentifier = Schema.Version(3, 0, 0)
    static let models: [any PersistentModel.Type] = [Note.self]

    struct Note: PersistentModel {
        var id = UUID()
        var text: String
        static let entity = EntityDescription(Note.self, attributes: [.id(\Note.id), .attribute("text", \Note.text)])
        init(row: inout AttributeReader) throws { (id, text) = (try row.nextUUID(), try row.nextString()) }
        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(text)
        }
    }
}

let path = "notes.sqlite"
