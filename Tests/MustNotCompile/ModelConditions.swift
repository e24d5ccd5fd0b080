import HabitStoreMacros

// Declarations inside #if were silently left out: the property existed and could be set, and no record stored it.

@Model struct Note {
    var title: String
    #if os(Linux)
    var extra = "x"  // error: @Model cannot see what is inside of #if: 'extra' would be left out; move it out
    #Unique<Note>([\.title])  // error: #Unique would be left out
    #else
    var other: String  // error: 'other' would be left out
    #Index<Note>([\.title])  // error: #Index would be left out
    #endif
    #if DEBUG
    #if os(Linux)
    var traces: [String]  // error: 'traces' would be left out
    #endif
    @ToOne var parent: Note?  // error: 'parent' would be left out
    #ClusteringIndex<Note>([\.title])  // error: #ClusteringIndex would be left out
    #endif
    #if os(Linux)
    @Unique  // error: @Unique would be left out
    #endif
    var slug: String
    #if DEBUG
    @available(*, deprecated)
    #else
    @Attribute(originalName: "heading")  // error: @Attribute would be left out
    #endif
    var name: String
}

// Declarations that no record stores are allowed.
@Model struct Label {
    var name: String
    #if os(Linux)
    static let count = 0
    var heading: String { name }
    func isNamed(_ other: String) -> Bool { name == other }
    struct Style {}
    #endif
    #if DEBUG
    @available(*, deprecated)
    #endif
    var colour: String
    var wrong = randomNumber()  // error: the type of 'wrong' cannot be inferred
}

func randomNumber() -> Int { 4 }
