import HabitStore

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
