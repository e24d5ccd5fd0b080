import HabitStore

/// A reference to at most one record: `@ToOne var notebook: Notebook?`. Its identifier is stored in a settable attribute with the
/// relationship's name and `ID`, such as `notebookID`. The inverse is the other model's relationship that names this one.
///
/// - Parameters:
///   - through: the name of the stored attribute, if it is different.
///   - deleteRule: what happens to the other record when this one is deleted.
@attached(accessor, names: named(get))
@attached(peer, names: prefixed(_relationship_))
public macro ToOne(through: String? = nil, deleteRule: DeleteRule = .nullify) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "RelationshipMacro")

/// The records that refer to this one: `@ToMany(inverse: \Note.notebook, deleteRule: .cascade) var notes: [Note]`.
///
/// - Parameters:
///   - inverse: the other model's to-one relationship that leads here.
///   - deleteRule: what happens to these records when this one is deleted.
@attached(accessor, names: named(get))
@attached(peer, names: prefixed(_relationship_))
public macro ToMany(inverse: AnyKeyPath, deleteRule: DeleteRule = .nullify) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "RelationshipMacro")

/// Many records, each of which may belong to many: `@ManyToMany var tags: [Tag]`. This side stores their identifiers in a settable
/// attribute with the singular of the relationship's name and `IDs`, such as `tagIDs`.
///
/// - Parameters:
///   - through: the name of the stored attribute, if it is different.
///   - deleteRule: what happens to the other records when this one is deleted.
@attached(accessor, names: named(get))
@attached(peer, names: prefixed(_relationship_))
public macro ManyToMany(through: String? = nil, deleteRule: DeleteRule = .nullify) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "RelationshipMacro")

/// The other side of a many-to-many relationship, which stores nothing: `@ManyToMany(inverse: \Habit.tags) var habits: [Habit]`.
///
/// - Parameters:
///   - inverse: the other model's relationship that stores the identifiers.
///   - deleteRule: what happens to the other records when this one is deleted.
@attached(accessor, names: named(get))
@attached(peer, names: prefixed(_relationship_))
public macro ManyToMany(inverse: AnyKeyPath, deleteRule: DeleteRule = .nullify) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "RelationshipMacro")
