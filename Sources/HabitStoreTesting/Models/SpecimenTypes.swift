import HabitStore

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
