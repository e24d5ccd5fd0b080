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
