import Foundation
import HabitStoreTesting

/// An app that keeps writing its library: random saves, each with the history that Core Data would write, with as few changes as allowed: of a link
/// only
/// on one side, of a place in an order on the side with the order.
struct FixtureApp {
    let fixture: CoreDataFixture
    var generator: SeededGenerator
    private var next: [Int: Int] = [1: 3, 3: 2, 4: 10, 5: 3]
    private var books = [1: 1, 2: 2]
    private var pages = [3, 5, 9]
    private var tags = [1, 2]
    private(set) var transaction = 3
    private var change = 11
    private var told: [(kind: Int, entity: Int, key: Int)] = []

    init(_ fixture: CoreDataFixture, seed: UInt64) {
        self.fixture = fixture
        generator = SeededGenerator(seed: seed)
    }

    private mutating func key(_ entity: Int) -> Int {
        let key = next[entity, default: 1]
        next[entity] = key + 1
        return key
    }

    /// Makes one save of one to four changes.
    mutating func save() throws {
        told = []
        try fixture.sql("BEGIN")
        for _ in 0..<Int.random(in: 1...4, using: &generator) { try step() }
        transaction += 1
        let author = Int.random(in: 1...2, using: &generator)
        try fixture.sql(
            "INSERT INTO ATRANSACTION (Z_PK, Z_ENT, ZAUTHORTS, ZTIMESTAMP) VALUES "
                + "(\(transaction), 16002, \(author), \(700_000_000 + transaction))"
        )
        for item in told {
            change += 1
            try fixture.sql(
                "INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) VALUES "
                    + "(\(change), 16001, \(item.kind), \(item.entity), \(item.key), \(transaction))"
            )
        }
        try fixture.sql("COMMIT")
    }

    private mutating func step() throws {
        switch Int.random(in: 0...9, using: &generator) {
        case 0: try addBook()
        case 1: try addPage()
        case 2: try renameBook()
        case 3: try reorderPages()
        case 4: try deletePage()
        case 5, 6: try link()
        case 7: try unlink()
        case 8: try addNote()
        default: try deleteBook()
        }
    }

    private mutating func anyBook() -> Int? { books.keys.sorted().randomElement(using: &generator) }

    private mutating func addBook() throws {
        let (key, entity) = (key(1), Bool.random(using: &generator) ? 1 : 2)
        let isbn = (0..<16).map { _ in
            let byte = UInt8.random(in: 0...255, using: &generator)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        try fixture.sql(
            "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZISBN, ZISCOLOURED) VALUES "
                + "(\(key), \(entity), 1, 'Book \(key)', x'\(isbn)', \(entity == 2 ? "0" : "NULL"))"
        )
        books[key] = entity
        told.append((0, entity, key))
    }

    private mutating func addPage() throws {
        guard let book = anyBook() else { return }
        let key = key(4)
        try fixture.sql(
            "INSERT INTO ZPAGE VALUES (\(key), 4, 1, \(key), \(book), \(books[book] ?? 1), \(1_024 * key))"
        )
        pages.append(key)
        told.append((0, 4, key))
    }

    private mutating func renameBook() throws {
        guard let book = anyBook() else { return }
        let name = Int.random(in: 0...9, using: &generator)
        try fixture.sql("UPDATE ZBOOK SET ZTITLE = 'Title \(name)', Z_OPT = Z_OPT + 1 WHERE Z_PK = \(book)")
        told.append((1, books[book] ?? 1, book))
    }

    private mutating func reorderPages() throws {
        guard let book = anyBook() else { return }
        let factor = Int.random(in: 1...9_999, using: &generator)
        try fixture.sql("UPDATE ZPAGE SET Z_FOK_BOOK = (Z_PK * \(factor)) % 100003 WHERE ZBOOK = \(book)")
        told.append((1, books[book] ?? 1, book))
    }

    private mutating func deletePage() throws {
        guard let page = pages.randomElement(using: &generator) else { return }
        try fixture.sql("DELETE FROM ZPAGE WHERE Z_PK = \(page)")
        pages.removeAll { $0 == page }
        told.append((2, 4, page))
    }

    private mutating func link() throws {
        guard let book = anyBook(), let tag = tags.randomElement(using: &generator) else { return }
        try fixture.sql("INSERT OR IGNORE INTO Z_1TAGS VALUES (\(book), \(tag))")
        told.append(Bool.random(using: &generator) ? (1, 5, tag) : (1, books[book] ?? 1, book))
    }

    private mutating func unlink() throws {
        guard let tag = tags.randomElement(using: &generator) else { return }
        try fixture.sql("DELETE FROM Z_1TAGS WHERE Z_5TAGS = \(tag) AND Z_1BOOKS % 2 = 0")
        told.append((1, 5, tag))
    }

    private mutating func addNote() throws {
        guard let book = anyBook() else { return }
        let key = key(3)
        try fixture.sql("INSERT INTO ZNOTE VALUES (\(key), 3, 1, \(book), 'note \(key)')")
        told.append((0, 3, key))
        // Another note moves, and only the book that gets it is in the history.
        try fixture.sql("UPDATE ZNOTE SET Z1NOTES = \(book) WHERE Z_PK = 1")
        told.append((1, books[book] ?? 1, book))
    }

    private mutating func deleteBook() throws {
        guard books.count > 1, let book = anyBook(), let entity = books.removeValue(forKey: book) else { return }
        try fixture.sql(
            """
            UPDATE ZPAGE SET ZBOOK = NULL, Z1_BOOK = NULL WHERE ZBOOK = \(book);
            UPDATE ZNOTE SET Z1NOTES = NULL WHERE Z1NOTES = \(book);
            DELETE FROM Z_1TAGS WHERE Z_1BOOKS = \(book);
            DELETE FROM Z_1SEQUELS WHERE \(book) IN (Z_1SEQUELS, Z_1PREQUELS);
            DELETE FROM ZBOOK WHERE Z_PK = \(book);
            """
        )
        told.append((2, entity, book))
    }
}
