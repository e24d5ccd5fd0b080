import HabitStoreMacros

@Model struct Note {
    var title: String
    @ToOne var notebook: Notebook?
    @ToOne var parent: Note?
    @ManyToMany var labels: [Label]
}

@Model struct Label {
    var name: String
    @ManyToMany(inverse: \Note.labels) var notes: [Note]
}

@Model struct Notebook {
    @ToMany(inverse: \Note.notebook) var notes: [Note]
    // error: \Note.notebook is the inverse of another relationship already
    @ToMany(inverse: \Note.notebook) var others: [Note]
    // error: the inverse must be a to-one relationship of the destination that leads to this model
    @ToMany(inverse: \Note.parent) var parents: [Note]
    // error: the inverse must be a to-one relationship of the destination that leads to this model
    @ToMany(inverse: \Note.title) var titles: [Note]
    // error: the inverse must be a to-one relationship
    // error: \Note.notebook is the inverse
    @ToMany(inverse: \Note.notebook) var labels: [Label]
    // error: the inverse must be a to-many relationship of the destination that leads to this model
    @ManyToMany(inverse: \Note.labels) var linked: [Note]
    @ToMany var unnamed: [Note]  // error: missing argument for parameter 'inverse' in macro expansion
    @ToOne var owner: Label  // error: a to-one relationship must be optional: the record may be gone
    @ToMany(inverse: \Note.notebook) var single: Note?  // error: a to-many relationship must be an array
    @ToOne let fixed: Label?  // error: a relationship must be a 'var': it is read from the store
    @ToOne var first: Label? = nil  // error: a relationship has no initial value: it is read from the store
    // error: @Unique cannot be on a relationship; declare what stores it: '@Unique var coverID: UUID?'
    @Unique @ToOne var cover: Note?
    @ToOne @ManyToMany var both: [Note]  // error: a property is one relationship, not several
    // error: links are stored in an attribute of the type 'Set<UUID>'
    @ManyToMany(through: "names") var named: [Label]
    var names: [String]
    // error: a reference is stored in an attribute of the type 'UUID?' or 'UUID'
    @ToOne(through: "number") var numbered: Label?
    var number: Int
    // error: a relationship cannot be stored in the identifier; name a separate attribute
    @ToOne(through: "id") var itself: Label?
    @ToOne var text: String?  // error: requires that 'String' conform to 'PersistentModel'
}
