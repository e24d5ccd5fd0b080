import Foundation
import HabitStoreMacros

enum Mood: String, Codable {
    case good, bad
}

struct NotCodable {}

@Model struct Note {
    var title: String
    var mood: Mood  // error: an enum is kept by its raw value: let it declare AttributeEnum
    @ManyToMany var others: [Note]
    @ManyToMany(inverse: \Note.others) var inOthers: [Note]
    #Index<Note>([\.others])  // error: 'others' is not a stored attribute of Note
    #Index<Note>([\.missing])  // error: 'missing' is not a stored attribute of Note
    #Unique<Note>([\.title, \.title])  // error: 'title' is named twice
    #Unique<Note>([\.otherIDs, \.title])  // error: links cannot be in a unique combination
    #Index<Note>([\.words])  // error: a list of texts cannot be indexed
    var words: [String]
    #ClusteringIndex<Note>([\.title])
    // error: a model has one clustering index at most: it holds a copy of each record
    #ClusteringIndex<Note>([\.mood])
}

@Model struct Sealed {  // error: type 'Sealed' does not conform to protocol 'Equatable'
    // error: an attribute's type must be AttributeConvertible, or Codable, Sendable and Equatable
    var content: NotCodable
    var feeling: Mood?  // error: an enum is kept by its raw value: let it declare AttributeEnum
}

// Equal values were stored twice: a set is encoded in any order, and a text's two Unicode forms, 0.0 and -0.0 are different bytes.
@Model struct Distinct {
    @Unique var members: Set<String>  // error: it is kept as JSON, which can differ where values are equal
    @Attribute(.preserveValueOnDeletion, .unique) var ratio: Float?  // error: it is kept as JSON
    var place: Place  // error: it is kept as JSON
    @Unique var temper: Mood  // error: an enum is kept by its raw value: let it declare AttributeEnum
    @Unique var size: Size
    @Unique var number: Number
    #Unique<Distinct>([\.number, \.place])
}

// Only opening a store reported this, far from the declaration.
@Model struct Priced {
    // error: it is kept as JSON, so that no filter or order could use the index
    var amount: Decimal
    var spot: Place?  // error: it is kept as JSON, so that no filter or order could use the index
    var size: Size
    #Index<Self>([\.size], [\.amount, \.size])
    #ClusteringIndex<Self>([\.spot])
    #Index<Sealed>([\.size])  // error: the key paths must be of Priced
}

// An alias hid the second optional from the macro.
@Model struct Aliased {
    var nickname: Maybe?  // error: an optional of an optional would be read back as nil where it holds nil
    var price: MaybePrice?  // error: an optional of an optional would be read back as nil where it holds nil
    var size: Size?
}

typealias Maybe = String?
typealias MaybePrice = Decimal?
typealias Number = Int

enum Size: String, AttributeEnum, Codable {
    case small, large
}

struct Place: Codable, Equatable {
    var name = ""
}

@Model struct Shelf {
    var name = ""
}

@Model struct Book {
    var title: String
    var home: Shelf  // error: a model is not an attribute but the target of a relationship: write @ToOne before it
    var shelf: Shelf?  // error: a model is not an attribute but the target of a relationship: write @ToOne before it
    // error: models are not an attribute but the targets of a relationship: write @ToMany or @ManyToMany before it
    var shelves: [Shelf]
}
