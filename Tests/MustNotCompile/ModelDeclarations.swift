import Foundation
import HabitStoreMacros

// error: @Model needs a struct: a model is a value, and 'class' is not one that can be stored
@Model class Notebook {
    var name = ""
}

@Model enum Colour {  // error: @Model needs a struct
    case red
}

@Model struct Box<Content> {  // error: a model cannot be generic: a store knows one entity of its name
    var label = ""
}

@Model struct Note {
    // fix: var
    let slug: String  // error: 'slug' must be a 'var': a record is changed by changing its model
    // error: the type of 'title' cannot be inferred from its initial value; write 'var title: Type'
    // fix: title: <#Type#> = titleOfToday
    var title = titleOfToday
    var (width, height): (Int, Int)  // error: a model's properties are declared one by one
    var first, second: Int  // error: a model's properties are declared one by one
    lazy var body = ""  // error: a model's property cannot be 'lazy'
    // error: @JSONAttribute is not needed: a 'Codable' property of a model is kept as JSON
    // fix: var settings = Settings()
    @JSONAttribute var settings = Settings()
    @Transient var isOpen: Bool  // error: 'isOpen' needs an initial value: no record keeps it
    @Transient @Unique var code = 0  // error: @Unique has no meaning for a property that no record keeps
    @Unique var length: Int { 0 }  // error: @Unique belongs to a stored property
    @Unique var links: Set<UUID>  // error: a list cannot be unique
}

@Model struct Fresh {
    // fix: @Attribute(initial: Date()) var createdAt: Date
    var createdAt = Date()  // error: write '@Attribute(initial: Date()) var createdAt: Date'
    // fix: @Attribute(initial: Date.now) var changedAt: Date
    var changedAt: Date = .now  // error: write '@Attribute(initial: Date.now) var changedAt: Date'
    var token = UUID()  // error: the initial value of 'token' differs each time
    var code: String = randomCode()  // error: the initial value of 'code' differs each time
    // fix: @Attribute(initial: { Int.random(in: 0...9) }()) var number: Int
    var number: Int = { Int.random(in: 0...9) }()  // error: the initial value of 'number' differs each time
    var tokens: [UUID] = [UUID()]  // error: the initial value of 'tokens' differs each time
    var label: String = "no. \(randomCode())"  // error: the initial value of 'label' differs each time
    var settings = Settings(theme: randomCode())  // error: the initial value of 'settings' differs each time
    var other: UUID = .init()  // error: the initial value of 'other' differs each time
    var always: Date = .init(timeIntervalSinceReferenceDate: 0)
    var half = Settings(theme: "half")
}

// The second one was silently ignored, and a migration lost the property's previous name.
@Model struct Twice {
    // error: 'title' has @Attribute twice, of which one would be read; write one @Attribute(.unique, originalName: "old")
    @Attribute(originalName: "old") @Attribute(.unique) var title: String
    @Unique @Unique var code: String  // error: 'code' has @Unique twice, of which one would be read; write one @Unique
    @Transient @Transient var isOpen = false  // error: write one @Transient
}

// Nil inside the value was read back as no value.
@Model struct Nested {
    var rank: Int??  // error: an optional of an optional would be read back as nil where it holds nil; write 'Int?'
    var place: Optional<Settings?> = nil  // error: write 'Settings?'
    var code: (String?)?  // error: write 'String?'
    @Transient var cache: Int??
}

// No property is generated next to a declared one, even a wrong one.
@Model struct Named {
    var id = UUID()  // error: write '@Attribute(initial: UUID()) var id: UUID'
    let otherID: UUID?  // error: 'otherID' must be a 'var'
    @ToOne var other: Named?
}

@Model struct Identified {  // error: type 'Identified' does not conform to protocol 'PersistentModel'
    var id: Int  // error: 'id' must be of the type 'UUID'
    var name: String
}

@Unique var loose = 0  // error: @Unique works in a struct with @Model only

struct Plain {
    @Attribute(.unique) var name: String  // error: @Attribute works in a struct with @Model only
    @Transient var isOpen = false  // error: @Transient works in a struct with @Model only
    @ToOne var other: Fresh?  // error: @ToOne works in a struct with @Model only
    #Index<Fresh>([\.token])  // error: #Index works in a struct with @Model only
}

struct Settings: Codable, Equatable {
    var theme = ""
}

let titleOfToday = "Today"
func randomCode() -> String { "\(Int.random(in: 0...9))" }
