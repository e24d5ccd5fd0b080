import Foundation
@_spi(Engines) import HabitStore
import HabitStoreMacros
import HabitStoreTesting
import Testing

/// Models made by the macro, on stores.
struct MadeModelTests {
    typealias Note = NotebookSchema.Note
    typealias Notebook = NotebookSchema.Notebook

    @Test func theSchemasAreSound() throws {
        try NotebookSchema.schema.validate()
        try FolderSchema.schema.validate()
    }

    @Test func theEntityHasTheDeclaredAttributesInOrder() {
        let attributes = Note.entity.attributes
        #expect(
            attributes.map(\.name) == [
                "id", "slug", "body", "title", "rank", "ratio", "bytes", "createdAt", "mood", "feeling", "style",
                "otherStyle", "numbers", "progress", "flags", "words", "default", "notebookID", "above", "labelIDs",
                "seeAlso",
            ]
        )
        #expect(attributes.filter(\.isUnique).map(\.name) == ["id", "slug"])
        #expect(attributes.filter(\.isOptional).map(\.name).contains("above"))
        #expect(attributes.filter(\.preservesValueOnDeletion).map(\.name) == ["id", "title"])
        #expect(attributes.first { $0.name == "title" }?.originalName == "heading")
        #expect(attributes.filter { $0.kind == .data }.count == 6)
        #expect(Notebook.entity.name == "Book" && Notebook.entity.originalName == "Folder")
    }

    @Test func initialValuesAreDefaultsAndOthersAreNot() {
        let defaults = Note.entity.attributes.filter { $0.defaultValue != nil }
        #expect(
            defaults.map(\.name) == [
                "body", "title", "rank", "ratio", "bytes", "createdAt", "mood", "style", "numbers", "progress", "flags",
                "default",
            ]
        )
        #expect(defaults.first { $0.name == "rank" }?.defaultValue == .int(7))
        #expect(defaults.first { $0.name == "ratio" }?.defaultValue == .double(-1.5))
        #expect(defaults.first { $0.name == "mood" }?.defaultValue == .string("good"))
        #expect(
            defaults.first { $0.name == "style" }?.defaultValue == .data(Data(#"{"sizes":[],"theme":"light"}"#.utf8))
        )
    }

    @Test func relationshipsKnowTheirInversesThoughOneSideNamesThem() throws {
        let schema = NotebookSchema.schema
        let relationships = schema.entities.flatMap { entity in
            entity.relationships.map { "\(entity.name).\($0.name) \($0.destination).\($0.inverse ?? "–")" }
        }
        #expect(
            relationships == [
                "Note.notebook Book.notes", "Note.parent Note.children", "Note.children Note.parent",
                "Note.labels Label.notes", "Note.related Note.relatedFrom", "Note.relatedFrom Note.related",
                "Book.notes Note.notebook", "Label.notes Note.labels",
            ]
        )
        // A model of the same name in another version is not the destination.
        let mixed = Schema([FolderSchema.Note.self, NotebookSchema.Notebook.self])
        #expect(throws: HabitStoreError.self) { try mixed.validate() }
    }

    /// Projecting a stored attribute that is encoded as JSON, such as a `Decimal`, failed with "Only stored attributes can be projected".
    @Test(arguments: TestedStore.allCases)
    func attributesKeptAsJSONAreProjected(_ kind: TestedStore) throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder, NotebookSchema.schema)
        defer { store.close() }
        var first = Note(slug: "a")
        (first.style, first.otherStyle, first.mood) = (Style(theme: "dark", sizes: [1]), Style(theme: "light"), .bad)
        let second = Note(slug: "b")
        try store.insert([first, second])
        let descriptor = FetchDescriptor<Note>(sortBy: [SortDescriptor(\.slug)])
        let projected = try store.project(descriptor, [\.style, \.slug, \.otherStyle, \.flags, \.mood])
        for (projection, note) in zip(projected, [first, second]) {
            #expect(try projection[\.style] == note.style)
            #expect(try projection[\.otherStyle] == .some(note.otherStyle))
            #expect(try projection[\.flags] == note.flags)
            #expect(projection[\.slug] == note.slug)
            #expect(projection[\.mood] == note.mood)
            #expect(try projection[\.numbers] == nil)
        }
        #expect(projected.count == 2)
        let error = #expect(throws: HabitStoreError.self) { try store.project(descriptor, [\.style.theme]) }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("theme") == true)
    }

    @Test(arguments: TestedStore.allCases)
    func everyKindOfAttributeComesBackAsItWasSaved(_ kind: TestedStore) throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder, NotebookSchema.schema)
        defer { store.close() }
        let plain = Note(slug: "plain")
        var full = Note(slug: "full", body: "text", title: "t", rank: nil, ratio: 0.25, bytes: Data([1, 2]))
        full.mood = .bad
        full.feeling = .good
        full.style = Style(theme: "dark", sizes: [1])
        full.otherStyle = Style()
        full.numbers = [3, 1]
        full.progress = Percentage(75)
        full.flags = .pinned
        full.words = ["a", "b"]
        full.default = false
        try store.save(plain)
        try store.save(full)
        #expect(try store.model(Note.self, id: plain.id) == plain)
        #expect(try store.model(Note.self, id: full.id) == full)
        #expect(plain.rank == 7 && full.rank == nil)
        full.isSelected = true
        try store.save(full)
        #expect(try store.model(Note.self, id: full.id)?.isSelected == false)
        let error = #expect(throws: HabitStoreError.self) { try store.save(Note(slug: "full", title: "other")) }
        #expect(error?.code == .uniqueViolation)
    }

    @Test(arguments: TestedStore.allCases)
    func predicatesAnswerForEveryKindOfAttribute(_ kind: TestedStore) throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder, NotebookSchema.schema)
        defer { store.close() }
        let dark = Style(theme: "dark", sizes: [])
        try store.save(Note(slug: "a", title: "1", style: dark, numbers: [1, 2]))
        try store.save(Note(slug: "b", title: "2", mood: .bad, otherStyle: dark))
        func slugs(_ predicate: Predicate<Note>) throws -> [String] {
            try store.fetch(FetchDescriptor(predicate: predicate)).map(\.slug).sorted()
        }
        let bad = Mood.bad
        #expect(try slugs(#Predicate { $0.mood == bad }) == ["b"])
        #expect(try slugs(#Predicate { $0.style.theme == "dark" }) == ["a"])
        #expect(try slugs(#Predicate { $0.style == dark }) == ["a"])
        #expect(try slugs(#Predicate { $0.otherStyle == nil }) == ["a"])
        #expect(try slugs(#Predicate { $0.numbers.contains(2) }) == ["a"])
        #expect(try slugs(#Predicate { $0.numbers.count == 2 }) == ["a"])
        #expect(try slugs(#Predicate { $0.numbers.isEmpty }) == ["b"])
        #expect(try slugs(#Predicate { $0.title == "2" && $0.rank == 7 }) == ["b"])
    }

    @Test(arguments: TestedStore.allCases)
    func relationshipsLeadThereAndBackAndFollowTheirDeleteRules(_ kind: TestedStore) throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder, NotebookSchema.schema)
        defer { store.close() }
        let (book, label) = (Notebook(name: "book"), NotebookSchema.Label(name: "label"))
        let parent = Note(slug: "parent", title: "1", notebookID: book.id, labelIDs: [label.id])
        let child = Note(slug: "child", title: "2", above: parent.id, seeAlso: [parent.id])
        try store.write(author: "app") { transaction in
            try transaction.save(book)
            try transaction.save(label)
            try transaction.save(parent)
            try transaction.save(child)
        }
        try store.read { _ in
            #expect(parent.notebook == book && book.notes == [parent])
            #expect(child.parent == parent && parent.children == [child])
            #expect(parent.labels == [label] && label.notes == [parent])
            #expect(child.related == [parent] && parent.relatedFrom == [child])
        }
        let found = FetchDescriptor<Note>(
            predicate: #Predicate { note in
                note.parent?.notebook?.name == "book" && note.related.contains { $0.slug == "parent" }
            }
        )
        #expect(try store.fetch(found) == [child])
        #expect(throws: HabitStoreError.self) { try store.delete(book) }
        try store.delete(label)
        #expect(try store.model(Note.self, id: parent.id)?.labelIDs == [])
        try store.delete(parent)
        #expect(try store.all(Note.self).isEmpty)
    }

    /// As the articles say about relationships that only one side declares.
    @Test(arguments: TestedStore.allCases)
    func aRelationshipThatTheOtherSideDoesNotDeclareHasNoDeleteRule(_ kind: TestedStore) throws {
        let relationships = OneSided.schema.entities.flatMap(\.relationships)
        #expect(relationships.map(\.name) == ["pets", "owner", "friends"])
        #expect(relationships.allSatisfy { $0.inverse == nil })
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder, OneSided.schema)
        defer { store.close() }
        let person = OneSided.Person()
        let pet = OneSided.Pet(ownerID: person.id, friendIDs: [person.id])
        try store.write(author: nil) { transaction in
            try transaction.save(person)
            try transaction.save(pet)
        }
        // Many-to-many from both sides without an inverse: two relationships, each with its own links.
        try store.read { _ in #expect(pet.friends == [person] && person.pets.isEmpty) }
        try store.delete(person)
        #expect(try store.model(OneSided.Pet.self, id: pet.id) == pet)
        try store.read { _ in #expect(pet.owner == nil && pet.friends.isEmpty) }
        #expect(try store.check { _ in }.map(\.kind) == ["danglingReference", "danglingReference"])
    }

    @Test func aModelIsEqualAndCodableByWhatItKeeps() throws {
        let note = Note(slug: "a", style: Style(theme: "x"), seeAlso: [UUID()])
        #expect(try JSONDecoder().decode(Note.self, from: try JSONEncoder().encode(note)) == note)
        #expect(note.heading == "UNTITLED")
    }
}
