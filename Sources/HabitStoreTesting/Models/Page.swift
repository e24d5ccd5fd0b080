import Foundation
import HabitStore

/// The indexes that a version of a program declares for pages.
protocol PageChoice: Sendable {
    static var indexes: [IndexDescription] { get }
}

enum PlainPages: PageChoice { static var indexes: [IndexDescription] { [IndexDescription("bookID", "number")] } }
enum ClusteredPages: PageChoice {
    static var indexes: [IndexDescription] { [IndexDescription("bookID", "number").clustering()] }
}
enum PagesClusteredByText: PageChoice {
    static var indexes: [IndexDescription] {
        [IndexDescription("bookID", "number"), IndexDescription("text").clustering()]
    }
}

/// A record with a compound index, which some versions of a program declare as clustering, with text that may be too long for the index's copy, and
/// with
/// links, which some engines store apart from the record.
struct Page<Choice: PageChoice>: PersistentModel {
    var id = UUID()
    var bookID: UUID?
    var number = 0
    var text = ""
    var mark: Double?
    var linkIDs: Set<UUID> = []

    static var entity: EntityDescription {
        EntityDescription(
            Page.self,
            name: "Page",
            attributes: [
                .id(\Page.id), .attribute("bookID", \Page.bookID), .attribute("number", \Page.number),
                .attribute("text", \Page.text), .attribute("mark", \Page.mark), .attribute("linkIDs", \Page.linkIDs),
            ],
            indexes: Choice.indexes
        )
    }

    static var schema: Schema { Schema([Page.self]) }
}

extension Page {
    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        bookID = try row.nextOptionalUUID()
        number = try row.nextInt()
        text = try row.nextString()
        mark = try row.nextOptionalDouble()
        linkIDs = Set(try row.nextLinks())
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(bookID)
        row.append(number)
        row.append(text)
        try row.append(mark)
        row.append(linkIDs)
    }

    /// The same page in another version of the program.
    init<Other>(_ page: Page<Other>) {
        id = page.id
        bookID = page.bookID
        number = page.number
        text = page.text
        mark = page.mark
        linkIDs = page.linkIDs
    }
}
