import HabitStoreMacros

/// Every form of a property.
@Model(originalName: "Memo") public struct Note {
    /// Unique.
    @Unique public var slug: String
    /// With a previous name, and preserved in tombstones.
    @Attribute(.preserveValueOnDeletion, originalName: "heading") public var title = "untitled"
    /// With another value for new records.
    @Attribute(initial: Date()) public var createdAt: Date = .distantPast
    /// Initially nil.
    public var value: Double?
    var feeling: Feeling?
    /// Not stored.
    @Transient public var isSelected = false
    /// A reference.
    @ToOne public var notebook: Notebook?
    @ToOne(through: "above", deleteRule: .deny) var parent: Note?
    @ToMany(inverse: \Note.parent) var children: [Note]
    @ManyToMany var categories: [Category]
    #Index<Note>([\.title], [\.notebookID, \.title])
    #ClusteringIndex<Note>([\.createdAt])
    #Unique<Note>([\.title, \.notebookID])
}

/// An enum stored by its raw value.
enum Feeling: String, AttributeEnum, Codable {
    case good, bad
}

/// The other side of both kinds of relationship, with its own initializer.
@Model public struct Notebook {
    /// Declared.
    public var id: UUID
    @ToMany(inverse: \Note.notebook, deleteRule: .cascade) var notes: [Note]

    init() { id = UUID() }
}

@Model struct Category {
    @ManyToMany(inverse: \Note.categories) var notes: [Note]
}
