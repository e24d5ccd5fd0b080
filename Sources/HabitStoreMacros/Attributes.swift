import HabitStore

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
