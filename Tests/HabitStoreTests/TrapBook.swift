import Foundation
import HabitStore

/// A model whose declaration a test chooses.
struct TrapBook: PersistentModel {
    enum Variant: String, Sendable {
        case ofAnotherType, manyOfAnotherType, anotherIdentifier, propertyTwice, propertyOfAnother, storedInIdentifier
        case storedTwice, uniqueLinks, uniqueWords, optionalLinks, indexedTwice, indexOfNothing, indexOfWords
        case indexOfTwoLinks, copiedModel, copiedModels, indexOfJSON
        case uniqueJSON, uniqueWrapper, uniqueCombination, optionalTwice, optionalJSONTwice
    }

    @TaskLocal static var variant: Variant?

    var id = UUID()
    var serial = UUID()
    var title = ""
    var words: [String] = []
    var links: Set<UUID> = []
    var moreLinks: Set<UUID> = []
    var maybeLinks: Set<UUID>?
    var ownerID: UUID?
    var keeperID: UUID?
    var shelf: TrapShelf?
    var shelves: [String: [TrapShelf]] = [:]
    var note = Note()
    @JSONAttribute var remark = Note()
    var rank: Int??
    var remarks: Note??

    struct Note: Codable, Equatable {
        var text = ""
    }

    var owner: TrapShelf? { RelationshipScope.one(\TrapBook.owner, ownerID) }
    var keeper: TrapShelf? { RelationshipScope.one(\TrapBook.keeper, keeperID) }
    var sequel: TrapBook? { RelationshipScope.one(\TrapBook.sequel, ownerID) }

    static var entity: EntityDescription {
        EntityDescription(
            TrapBook.self,
            name: "Book",
            attributes: attributes,
            relationships: relationships,
            indexes: indexes,
            uniqueness: variant == .uniqueCombination ? [.unique(\TrapBook.title, \TrapBook.note)] : []
        )
    }

    private static var attributes: [AttributeDescription] {
        var attributes: [AttributeDescription] = [
            .id(variant == .anotherIdentifier ? \TrapBook.serial : \TrapBook.id),
            variant == .anotherIdentifier ? .attribute("serial", \TrapBook.id) : .attribute("serial", \TrapBook.serial),
            variant == .propertyOfAnother
                ? .attribute("title", \TrapShelf.title) : .attribute("title", \TrapBook.title),
            .attribute("words", \TrapBook.words, variant == .uniqueWords ? .unique : []),
            .attribute("links", \TrapBook.links, variant == .uniqueLinks ? .unique : []),
            .attribute("moreLinks", \TrapBook.moreLinks),
            .attribute("ownerID", \TrapBook.ownerID), .attribute("keeperID", \TrapBook.keeperID),
        ]
        if variant == .optionalLinks { attributes.append(.attribute("maybeLinks", \TrapBook.maybeLinks)) }
        if variant == .copiedModel { attributes.append(.json("shelf", \TrapBook.shelf)) }
        if variant == .copiedModels { attributes.append(.json("shelves", \TrapBook.shelves)) }
        if variant == .indexOfJSON || variant == .uniqueCombination { attributes.append(.json("note", \TrapBook.note)) }
        if variant == .uniqueJSON { attributes.append(.json("note", \TrapBook.note, .unique)) }
        if variant == .uniqueWrapper { attributes.append(.attribute("remark", \TrapBook._remark, .unique)) }
        if variant == .optionalTwice { attributes.append(.attribute("rank", \TrapBook.rank)) }
        if variant == .optionalJSONTwice { attributes.append(.json("remarks", \TrapBook.remarks)) }
        if variant == .propertyTwice { attributes.append(.attribute("heading", \TrapBook.title)) }
        return attributes
    }

    private static var relationships: [RelationshipDescription] {
        let through = variant == .storedInIdentifier ? "id" : "ownerID"
        let owner: RelationshipDescription =
            variant == .ofAnotherType
            ? .toOne("owner", \TrapBook.sequel, through: through, destination: "Shelf", inverse: "books")
            : .toOne("owner", \TrapBook.owner, through: through, destination: "Shelf", inverse: "books")
        let keeper = RelationshipDescription.toOne(
            "keeper",
            \TrapBook.keeper,
            through: variant == .storedTwice ? "ownerID" : "keeperID",
            destination: "Shelf",
            inverse: nil
        )
        return [owner, keeper]
    }

    private static var indexes: [IndexDescription] {
        switch variant {
        case .indexedTwice: [IndexDescription("title", "serial", "title")]
        case .indexOfNothing: [IndexDescription()]
        case .indexOfWords: [IndexDescription("title", "words")]
        case .indexOfJSON: [IndexDescription("title", "note")]
        case .indexOfTwoLinks: [IndexDescription("links", "moreLinks")]
        default: []
        }
    }

    init() {}

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        serial = try row.nextUUID()
        if Self.variant == .anotherIdentifier { swap(&id, &serial) }
        title = try row.nextString()
        words = try row.nextStrings()
        links = Set(try row.nextLinks())
        moreLinks = Set(try row.nextLinks())
        ownerID = try row.nextOptionalUUID()
        keeperID = try row.nextOptionalUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(Self.variant == .anotherIdentifier ? serial : id)
        row.append(Self.variant == .anotherIdentifier ? id : serial)
        row.append(title)
        row.append(words)
        row.append(links)
        row.append(moreLinks)
        row.append(ownerID)
        row.append(keeperID)
    }
}

struct TrapShelf: PersistentModel {
    var id = UUID()
    var title = ""

    var books: [TrapBook] { RelationshipScope.many(\TrapShelf.books, of: id) }
    var shelves: [TrapShelf] { RelationshipScope.many(\TrapShelf.shelves, of: id) }

    static var entity: EntityDescription {
        let books: RelationshipDescription =
            TrapBook.variant == .manyOfAnotherType
            ? .toMany("books", \TrapShelf.shelves, destination: "Book", inverse: "owner")
            : .toMany("books", \TrapShelf.books, destination: "Book", inverse: "owner")
        return EntityDescription(
            TrapShelf.self,
            name: "Shelf",
            attributes: [.id(\TrapShelf.id), .attribute("title", \TrapShelf.title)],
            relationships: [books]
        )
    }

    init() {}

    init(row: inout AttributeReader) throws { (id, title) = (try row.nextUUID(), try row.nextString()) }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(title)
    }
}

/// A model that uses another one's description.
struct TrapCopy: PersistentModel {
    var id = UUID()
    static var entity: EntityDescription { TrapShelf.entity }
    init(row: inout AttributeReader) throws { id = try row.nextUUID() }
    func write(to row: inout AttributeWriter) throws { row.append(id) }
}
