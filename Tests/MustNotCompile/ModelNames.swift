import HabitStoreMacros

@Model struct Note {
    var title: String
    var Title: String  // error: 'Title' and 'title' differ in case only, which stores do not tell apart
    var notebookId: String
    @ToOne var notebook: Notebook?  // error: 'notebookID' and 'notebookId' differ in case only
    var Id = 0  // error: 'Id' and 'id' differ in case only
    var hashValue = 0  // error: 'hashValue' is a name that the store needs for itself; choose another
    var _hidden = 0  // error: '_hidden' is a name that the store needs for itself; choose another
}

@Model struct Pronoun {
    var `self`: Int  // error: 'self' cannot name a property of a model
}

@Model struct Notebook {
    var name: String
}

// error: 'History_Change' is a name that the store needs for itself; choose another, or write '@Model(name:)'
@Model struct History_Change {
    var text: String
}

// error: 'history' is a name that the store needs for itself
@Model(name: "history") struct Past {
    var text: String
}

// error: 'SQLite_notes' is a name that the store needs for itself
@Model(name: "SQLite_notes") struct Memo {
    var text: String
}
