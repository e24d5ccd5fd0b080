import HabitStore

/// Says more about how a property is kept: `@Attribute(.unique, .preserveValueOnDeletion, originalName: "heading") var title: String`.
///
/// - Parameters:
///   - options: whether no two records may have the same value, and whether tombstones keep it.
///   - originalName: the attribute's name in the schema version before, if it had another.
@attached(peer)
public macro Attribute(_ options: AttributeDescription.Options..., originalName: String? = nil) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "AttributeMacro")

/// The same for a property whose new records begin with a value that is not the schema's default:
/// `@Attribute(initial: Date()) var createdAt: Date`, which has none, or
/// `@Attribute(initial: Date()) var createdAt: Date = .distantPast`.
///
/// - Parameters:
///   - options: whether no two records may have the same value, and whether tombstones keep it.
///   - originalName: the attribute's name in the schema version before, if it had another.
///   - initial: what a new record has unless it is given another value. It is evaluated for new records, and never for those
///     that are read.
@attached(peer)
public macro Attribute<Value>(_ options: AttributeDescription.Options..., originalName: String? = nil, initial: Value) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "AttributeMacro")

/// No two records may have the same value of the property; nil aside. The same as `@Attribute(.unique)`.
@attached(peer)
public macro Unique() = #externalMacro(module: "HabitStoreMacrosPlugin", type: "AttributeMacro")

/// No record keeps the property: records that are read have its initial value.
@attached(peer)
public macro Transient() = #externalMacro(module: "HabitStoreMacrosPlugin", type: "AttributeMacro")

/// What `@Model` puts on properties of types that a macro cannot know, so that the compiler says there what is wrong with one. Apps do
/// not write it.
///
/// - Parameters:
///   - isUnique: whether no two records may have the same value, of the property or of a combination with it.
///   - isIndexed: whether an index names the property.
@attached(peer, names: prefixed(_coding_))
public macro _KeptByType(isUnique: Bool = false, isIndexed: Bool = false) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "CodingMacro")
