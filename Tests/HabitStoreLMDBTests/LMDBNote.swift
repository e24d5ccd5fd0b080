import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker

/// The model; Testing has a type `Tag` too.
typealias HabitTag = Tag

/// A record with an index of every shape.
struct LMDBNote: PersistentModel {
    var id = UUID()
    var title = ""
    var subtitle: String?
    var rank = 0
    var weight: Double?
    var stamp = Date(timeIntervalSinceReferenceDate: 0)
    var isDone = false
    var bytes: Data?
    var reference: UUID?
    var links: Set<UUID> = []

    static let attributes: [AttributeDescription] = [
        .id(\LMDBNote.id),
        .attribute("title", \LMDBNote.title),
        .attribute("subtitle", \LMDBNote.subtitle),
        .attribute("rank", \LMDBNote.rank),
        .attribute("weight", \LMDBNote.weight),
        .attribute("stamp", \LMDBNote.stamp),
        .attribute("isDone", \LMDBNote.isDone),
        .attribute("bytes", \LMDBNote.bytes),
        .attribute("reference", \LMDBNote.reference),
        .attribute("links", \LMDBNote.links),
    ]

    static func declared(_ indexes: [IndexDescription]) -> EntityDescription {
        EntityDescription(LMDBNote.self, name: "Note", attributes: attributes, indexes: indexes)
    }

    static let entity = LMDBNote.declared([
        IndexDescription("title"), IndexDescription("subtitle", "title", "rank"), IndexDescription("rank", "subtitle"),
        IndexDescription("weight"), IndexDescription("isDone", "stamp"), IndexDescription("bytes"),
        IndexDescription("reference", "stamp"), IndexDescription("links", "rank"),
    ])

    static let schema = Schema([LMDBNote.self])
}

extension LMDBNote {
    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        title = try row.nextString()
        subtitle = try row.nextOptionalString()
        rank = try row.nextInt()
        weight = try row.nextOptionalDouble()
        stamp = try row.nextDate()
        isDone = try row.nextBool()
        bytes = try row.nextOptionalData()
        reference = try row.nextOptionalUUID()
        links = Set(try row.nextLinks())
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(title)
        row.append(subtitle)
        row.append(rank)
        try row.append(weight)
        try row.append(stamp)
        row.append(isDone)
        row.append(bytes)
        row.append(reference)
        row.append(links)
    }
}

/// Values at the edges of keys.
enum LMDBNoteSample {
    static func text(_ random: inout SeededGenerator) -> String {
        let alphabet: [Character] = ["a", "b", "\0", "\u{1}", "é", "z", "👍", "\u{7f}"]
        let length =
            [0, 1, 2, 3, 159, 160, 161, 243, 244, 245, 490, 491, 492, 493, 494, 600].randomElement(using: &random) ?? 0
        // Mostly equal, so that orders are decided late.
        var text = [Character](repeating: Bool.random(using: &random) ? "a" : "\0", count: length)
        for _ in 0..<Int.random(in: 0...2, using: &random) where length > 0 {
            let place = Bool.random(using: &random) ? length - 1 : Int.random(in: 0..<length, using: &random)
            text[place] = alphabet.randomElement(using: &random) ?? "a"
        }
        return String(text)
    }

    static func number(_ random: inout SeededGenerator) -> Double {
        let edges = [
            0, 1, -1, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .greatestFiniteMagnitude,
            -.greatestFiniteMagnitude, 1.5, -1.5, 700_000_000.25,
        ]
        return Bool.random(using: &random)
            ? edges.randomElement(using: &random) ?? 0 : Double.random(in: -1e9...1e9, using: &random)
    }

    static func note(_ random: inout SeededGenerator) -> LMDBNote {
        var note = LMDBNote()
        note.id = identifier(&random)
        note.title = text(&random)
        note.subtitle = Int.random(in: 0..<4, using: &random) == 0 ? nil : text(&random)
        note.rank = [Int.min, -1, 0, 1, 2, Int.max].randomElement(using: &random) ?? 0
        note.weight = Int.random(in: 0..<4, using: &random) == 0 ? nil : number(&random)
        note.stamp = Date(timeIntervalSinceReferenceDate: number(&random))
        note.isDone = Bool.random(using: &random)
        note.bytes = Int.random(in: 0..<4, using: &random) == 0 ? nil : Data(text(&random).utf8)
        note.reference = Bool.random(using: &random) ? nil : small(Int.random(in: 0..<4, using: &random))
        note.links = Set(
            (0..<Int.random(in: 0..<3, using: &random)).map { _ in small(Int.random(in: 0..<4, using: &random)) }
        )
        return note
    }

    static func identifier(_ random: inout SeededGenerator) -> UUID {
        let bytes = random.bytes(16)
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// One of a few identifiers.
    static func small(_ number: Int) -> UUID {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(truncatingIfNeeded: number)))
    }
}
