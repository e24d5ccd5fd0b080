import Foundation
import HabitStore

/// The kit's schema: every kind of attribute, and every delete rule on every kind of relationship.
enum ContractSchema {
    static let schema = Schema(
        [
            Specimen.self, Folder.self, Hub.self, Item.self, Badge.self, Leaf.self, Bouquet.self, Wrapper.self,
            Booking.self,
        ],
        version: .init(1, 2, 3)
    )
}

/// A record with every kind of attribute, optional and not.
struct Specimen: PersistentModel {
    var id = UUID()
    var flag: Bool = false
    var optionalFlag: Bool?
    var count: Int = 0
    var optionalCount: Int?
    var ratio: Double = 0
    var optionalRatio: Double?
    var text: String = ""
    var optionalText: String?
    var moment: Date = Date(timeIntervalSinceReferenceDate: 0)
    var optionalMoment: Date?
    var token: UUID = UUID()
    var optionalToken: UUID?
    var bytes: Data = Data()
    var optionalBytes: Data?
    var words: [String] = []
    var optionalWords: [String]?
    var mood = Mood.good
    var optionalMood: Mood?
    var level = Level.low
    var optionalLevel: Level?
    @JSONAttribute var settings = Settings(theme: "", sizes: [])
    var optionalSettings: JSONAttribute<Settings>?
    /// Unique, but any number of records may have nil.
    var code: String?
    /// Unique, and never nil.
    var serial = UUID()

    init(_ text: String = "") { self.text = text }

    static let entity = EntityDescription(
        Specimen.self,
        attributes: [
            .id(\Specimen.id),
            .attribute("flag", \Specimen.flag),
            .attribute("optionalFlag", \Specimen.optionalFlag),
            .attribute("count", \Specimen.count),
            .attribute("optionalCount", \Specimen.optionalCount),
            .attribute("ratio", \Specimen.ratio),
            .attribute("optionalRatio", \Specimen.optionalRatio),
            .attribute("text", \Specimen.text),
            .attribute("optionalText", \Specimen.optionalText),
            .attribute("moment", \Specimen.moment),
            .attribute("optionalMoment", \Specimen.optionalMoment),
            .attribute("token", \Specimen.token),
            .attribute("optionalToken", \Specimen.optionalToken),
            .attribute("bytes", \Specimen.bytes),
            .attribute("optionalBytes", \Specimen.optionalBytes),
            .attribute("words", \Specimen.words),
            .attribute("optionalWords", \Specimen.optionalWords),
            .attribute("mood", \Specimen.mood),
            .attribute("optionalMood", \Specimen.optionalMood),
            .attribute("level", \Specimen.level),
            .attribute("optionalLevel", \Specimen.optionalLevel),
            .attribute("settings", \Specimen._settings),
            .attribute("optionalSettings", \Specimen.optionalSettings),
            .attribute("code", \Specimen.code, [.unique, .preserveValueOnDeletion]),
            .attribute("serial", \Specimen.serial, .unique),
        ],
        indexes: [
            IndexDescription("text"), IndexDescription("optionalText"),
            IndexDescription("count", "optionalMoment").clustering(),
            IndexDescription("optionalRatio"), IndexDescription("level"),
        ]
    )
}

extension Specimen {
    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        flag = try row.nextBool()
        optionalFlag = try row.nextOptionalBool()
        count = try row.nextInt()
        optionalCount = try row.nextOptionalInt()
        ratio = try row.nextDouble()
        optionalRatio = try row.nextOptionalDouble()
        text = try row.nextString()
        optionalText = try row.nextOptionalString()
        moment = try row.nextDate()
        optionalMoment = try row.nextOptionalDate()
        token = try row.nextUUID()
        optionalToken = try row.nextOptionalUUID()
        bytes = try row.nextData()
        optionalBytes = try row.nextOptionalData()
        words = try row.nextStrings()
        optionalWords = try row.nextOptionalStrings()
        mood = try row.next()
        optionalMood = try row.next()
        level = try row.next()
        optionalLevel = try row.next()
        _settings = try row.next()
        optionalSettings = try row.next()
        code = try row.nextOptionalString()
        serial = try row.nextUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(flag)
        row.append(optionalFlag)
        row.append(count)
        row.append(optionalCount)
        try row.append(ratio)
        try row.append(optionalRatio)
        row.append(text)
        row.append(optionalText)
        try row.append(moment)
        try row.append(optionalMoment)
        row.append(token)
        row.append(optionalToken)
        row.append(bytes)
        row.append(optionalBytes)
        row.append(words)
        row.append(optionalWords)
        try row.append(converting: mood)
        try row.append(converting: optionalMood)
        try row.append(converting: level)
        try row.append(converting: optionalLevel)
        try row.append(converting: _settings)
        try row.append(converting: optionalSettings)
        row.append(code)
        row.append(serial)
    }
}

/// An enum stored as text.
enum Mood: String, AttributeEnum, Codable {
    case good
    case bad = "b\u{e4}d"
}

/// An enum stored as a number, whose own order is the opposite of its raw values' order.
enum Level: Int, AttributeEnum, Codable, Comparable {
    case low = -1
    case middle = 0
    case high = 9

    static func < (left: Level, right: Level) -> Bool { left.rawValue > right.rawValue }
}

/// A value stored as JSON.
struct Settings: Codable, Sendable, Equatable, JSONAttributeProbing {
    var theme: String
    var sizes: [Int]

    static func probe(position: Int) -> Settings { Settings(theme: "theme \(position)", sizes: [position]) }
}

/// A record with attributes stored as JSON or in the app's own encoding, whose values may not be read back equal.
struct Quote: PersistentModel {
    /// A `Codable` value that contains others.
    struct Terms: Codable, Sendable, Equatable {
        var rate: Decimal = 1
        var page: URL?
        /// Compared, but not encoded.
        var draft = ""

        private enum CodingKeys: String, CodingKey { case rate, page }
    }

    /// A type with a custom encoding, which drops the fraction.
    struct Degrees: AttributeConvertible, Codable, Equatable {
        var value: Double

        static var attributeKind: AttributeKind { .int }
        static func probe(position: Int) -> Value { .int(Int64(position)) }

        init(_ value: Double) { self.value = value }

        init?(attributeValue: Value) {
            guard case .int(let number) = attributeValue, number < 1_000 else { return nil }
            value = Double(number)
        }

        func attributeValue() -> Value { .int(Int64(value)) }
    }

    var id = UUID()
    var amount: Decimal = 1
    var link: URL?
    var terms = Terms()
    var warmth = Degrees(20)

    init() {}

    static let entity = EntityDescription(
        Quote.self,
        attributes: [
            .id(\Quote.id), .json("amount", \Quote.amount), .json("link", \Quote.link), .json("terms", \Quote.terms),
            .attribute("warmth", \Quote.warmth),
        ]
    )
    static let schema = Schema([Quote.self])

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        amount = try row.next(JSONAttribute<Decimal>.self).wrappedValue
        link = try row.next(JSONAttribute<URL>?.self)?.wrappedValue
        terms = try row.next(JSONAttribute<Terms>.self).wrappedValue
        warmth = try row.next()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        try row.append(converting: JSONAttribute(wrappedValue: amount))
        try row.append(converting: link.map { JSONAttribute(wrappedValue: $0) })
        try row.append(converting: JSONAttribute(wrappedValue: terms))
        try row.append(converting: warmth)
    }
}

/// A record with two unique combinations of attributes; one of them includes an optional.
struct Booking: PersistentModel {
    var id = UUID()
    var room = ""
    var day = Date(timeIntervalSinceReferenceDate: 0)
    var guest: String?

    init(_ room: String, day: Int, guest: String? = nil) {
        self.room = room
        self.day = Date(timeIntervalSinceReferenceDate: Double(day) * 86_400)
        self.guest = guest
    }

    static let entity = EntityDescription(
        Booking.self,
        attributes: [
            .id(\Booking.id),
            .attribute("room", \Booking.room),
            .attribute("day", \Booking.day),
            .attribute("guest", \Booking.guest),
        ],
        uniqueness: [.unique(\Booking.room, \Booking.day), .unique(\Booking.guest, \Booking.day)]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        room = try row.nextString()
        day = try row.nextDate()
        guest = try row.nextOptionalString()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(room)
        try row.append(day)
        row.append(guest)
    }
}

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

/// A model whose clause chooses the names of its entity, attributes and relationship.
struct OddlyNamed: PersistentModel {
    /// The names.
    struct Names: Sendable {
        var entity = "Odd"
        var text = "text"
        var flag = "flag"
        var reference = "reference"
        var relationship = "other"
    }

    @TaskLocal static var names = Names()

    var id = UUID()
    var text = ""
    var flag = false
    var reference: UUID?

    /// The record that the reference points to.
    var other: OddlyNamed? { RelationshipScope.one(\OddlyNamed.other, reference) }

    static var entity: EntityDescription {
        EntityDescription(
            OddlyNamed.self,
            name: names.entity,
            attributes: [
                .id(\OddlyNamed.id), .attribute(names.text, \OddlyNamed.text), .attribute(names.flag, \OddlyNamed.flag),
                .attribute(names.reference, \OddlyNamed.reference),
            ],
            relationships: [
                .toOne(
                    names.relationship,
                    \OddlyNamed.other,
                    through: names.reference,
                    destination: names.entity,
                    inverse: nil
                )
            ],
            indexes: [.index(\OddlyNamed.text, \OddlyNamed.flag)]
        )
    }

    init(text: String) { self.text = text }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        text = try row.nextString()
        flag = try row.nextBool()
        reference = try row.nextOptionalUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(text)
        row.append(flag)
        row.append(reference)
    }
}

/// An entity with the name of ``HabitStore/Draft`` and different attributes.
struct OtherDraft: PersistentModel {
    var id: UUID
    var content: String

    static let entity = EntityDescription(
        OtherDraft.self,
        name: "Draft",
        attributes: [.id(\OtherDraft.id), .attribute("content", \OtherDraft.content)]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        content = try row.nextString()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(content)
    }
}
