import Foundation
import HabitStore

/// An older version of an app.
enum OlderApp {
    enum Mood: String, AttributeEnum, Codable {
        case good, bad
    }

    struct Details: Codable, Sendable, Equatable, JSONAttributeProbing {
        var text = ""

        static func probe(position: Int) -> Details { Details(text: "\(position)") }
    }

    struct Note: PersistentModel {
        var id = UUID()
        var mood = Mood.good
        @JSONAttribute var details = Details()

        init(id: UUID = UUID()) { self.id = id }

        static let entity = EntityDescription(
            Note.self,
            attributes: [
                .id(\Note.id), .attribute("mood", \Note.mood), .attribute("details", \Note._details),
            ]
        )

        init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            mood = try row.next()
            _details = try row.next()
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            try row.append(converting: mood)
            try row.append(converting: _details)
        }
    }
}

/// The next version, with another mood and different details.
enum NewerApp {
    enum Mood: String, AttributeEnum, Codable {
        case good, bad, elated
    }

    struct Details: Codable, Sendable, Equatable, JSONAttributeProbing {
        var text: String? = ""
        var lines: [String]?

        static func probe(position: Int) -> Details { Details(text: "\(position)") }
    }

    struct Note: PersistentModel {
        var id = UUID()
        var mood = Mood.good
        @JSONAttribute var details = Details()

        init(mood: Mood = .good) { self.mood = mood }

        /// A note with lines instead of a text.
        init(details: Details) {
            self.details = details
            self.details.text = nil
        }

        static let entity = EntityDescription(
            Note.self,
            attributes: [
                .id(\Note.id), .attribute("mood", \Note.mood), .attribute("details", \Note._details),
            ]
        )

        init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            mood = try row.next()
            _details = try row.next()
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            try row.append(converting: mood)
            try row.append(converting: _details)
        }
    }
}
