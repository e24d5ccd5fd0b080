@_exported import Foundation
@_exported import HabitStore

#if !Macros
#error("HabitStoreMacros needs the trait Macros of the package, which the dependency on it turns off")
#endif

/// Makes a struct a model that stores can save: generates the conformance to ``PersistentModel`` from its properties.
///
/// ```swift
/// @Model struct Note {
///     @Unique var slug: String
///     var body = ""
///     @ToOne var notebook: Notebook?
///     #Index<Note>([\.notebookID, \.slug])
/// }
///
/// @Model struct Notebook {
///     var name: String
///     @ToMany(inverse: \Note.notebook, deleteRule: .cascade) var notes: [Note]
/// }
/// ```
/// The macro generates `id`, unless it is declared; the attributes that store relationships (`notebookID`), unless they are
/// declared; the entity; `init(row:)` and `write(to:)`; and an initializer with all properties, unless the struct declares one. The
/// article <doc:Macros> explains each attribute and each type.
///
/// - Parameters:
///   - name: the entity's name; by default, the struct's.
///   - originalName: the entity's name in the previous schema version, if it was different.
@attached(member, names: named(id), named(entity), named(init), named(write), arbitrary)
@attached(memberAttribute)
@attached(extension, conformances: PersistentModel)
public macro Model(name: String? = nil, originalName: String? = nil) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "ModelMacro")

/// Customizes how a property is stored: `@Attribute(.unique, .preserveValueOnDeletion, originalName: "heading") var title: String`.
///
/// - Parameters:
///   - options: whether values must be unique, and whether tombstones keep them.
///   - originalName: the attribute's name in the previous schema version, if it was different.
@attached(peer)
public macro Attribute(_ options: AttributeDescription.Options..., originalName: String? = nil) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "AttributeMacro")

/// The same for a property whose new records start with a value other than the schema's default: `@Attribute(initial: Date()) var
/// createdAt: Date`, which has no default, or `@Attribute(initial: Date()) var createdAt: Date = .distantPast`.
///
/// - Parameters:
///   - options: whether values must be unique, and whether tombstones keep them.
///   - originalName: the attribute's name in the previous schema version, if it was different.
///   - initial: the value of a new record unless it is given another. It is evaluated for new records, never for those that are
///     read.
@attached(peer)
public macro Attribute<Value>(_ options: AttributeDescription.Options..., originalName: String? = nil, initial: Value) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "AttributeMacro")

/// Requires that no two records have the same value of the property, except nil. Equivalent to `@Attribute(.unique)`.
@attached(peer)
public macro Unique() = #externalMacro(module: "HabitStoreMacrosPlugin", type: "AttributeMacro")

/// Excludes the property from the store: records that are read have its initial value.
@attached(peer)
public macro Transient() = #externalMacro(module: "HabitStoreMacrosPlugin", type: "AttributeMacro")

/// Added by `@Model` to properties of types that a macro cannot know, so that the compiler reports errors there. Apps do not use
/// it.
///
/// - Parameters:
///   - isUnique: whether the property, or a combination with it, must be unique.
///   - isIndexed: whether an index includes the property.
@attached(peer, names: prefixed(_coding_))
public macro _KeptByType(isUnique: Bool = false, isIndexed: Bool = false) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "CodingMacro")

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

/// Declares an index over the attributes of each list: `#Index<Note>([\.title], [\.notebookID, \.title])`. The order of the key
/// paths is the order of the keys.
@freestanding(declaration)
public macro Index<Model: PersistentModel>(_ indexes: [PartialKeyPath<Model>]...) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "IndexMacro")

/// Declares an index with a copy of each record, for the order in which an app reads most; see ``IndexDescription/clustering()``.
@freestanding(declaration)
public macro ClusteringIndex<Model: PersistentModel>(_ index: [PartialKeyPath<Model>]) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "IndexMacro")

/// Declares combinations of attributes that must be unique: `#Unique<Trip>([\.name, \.startDate])`.
@freestanding(declaration)
public macro Unique<Model: PersistentModel>(_ combinations: [PartialKeyPath<Model>]...) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "IndexMacro")
