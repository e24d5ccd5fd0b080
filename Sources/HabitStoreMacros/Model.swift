@_exported import Foundation
@_exported import HabitStore

#if !Macros
#error("HabitStoreMacros needs the trait Macros of the package, which the dependency on it turns off")
#endif

/// Makes a struct a model that stores can keep: all of ``PersistentModel`` is made from its properties.
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
/// It makes `id`, unless that is declared; the attributes that store relationships (`notebookID`), unless they are declared; the
/// entity; `init(row:)` and `write(to:)`; and an initializer that takes all properties, unless the struct has one of its own. The
/// article <doc:Macros> says what each attribute and each type means.
///
/// - Parameters:
///   - name: the entity's name; without it, the struct's.
///   - originalName: the name that the entity had in the schema version before, if it had another.
@attached(member, names: named(id), named(entity), named(init), named(write), arbitrary)
@attached(memberAttribute)
@attached(extension, conformances: PersistentModel)
public macro Model(name: String? = nil, originalName: String? = nil) =
    #externalMacro(module: "HabitStoreMacrosPlugin", type: "ModelMacro")
