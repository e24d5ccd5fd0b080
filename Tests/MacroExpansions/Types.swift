import HabitStoreMacros

/// Properties whose types follow from their initial values, or whose encoding the compiler chooses by their type.
@Model struct Types {
    var whole = 1
    var negative = -2.5
    var flag = true
    var texts = ["a"]
    var style = Style(theme: "dark")
    var colour = Style.Colour.red
    var numbers: [Int] = []
    var members = Set<Int>()
    var date = Date(timeIntervalSinceReferenceDate: 0)
    var past = Date.distantPast
    var bytes: Foundation.Data
    var words: Optional<Array<String>>
    var links: Set<UUID> = []
    var options: Options? = [.bold]
    var rule: Style.Rule = .none
    var maybe: Style.Rule? = .some(.daily)
    @Unique var code: Style.Rule
    var `default`: String { "" }
    var `class` = ""
}

struct Style: Codable, Equatable {
    enum Colour: Int, AttributeEnum, Codable {
        case red, green
    }
    enum Rule: String, AttributeEnum, Codable {
        case none, daily
    }
    var theme: String
}

struct Options: OptionSet, Codable {
    let rawValue: Int
    static let bold = Options(rawValue: 1)
}
