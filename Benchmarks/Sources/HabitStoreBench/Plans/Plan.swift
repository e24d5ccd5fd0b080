/// The kinds of queries, each with a different expected plan; in the order of `cy_plan`.
enum Plan: UInt32, CaseIterable, Sendable {
    case equality
    case range
    case rangeLimit
    case newest
    case membership
    case prefix
    case top
    case joinName
    case joinArchived
    case anyEntry
    case anyTag
    case count
    case countResidual
    case values
    case dates
    case identifiers
    case contains
    case arithmetic
    case regex

    var title: String {
        switch self {
        case .equality: "index: a habit's entries"
        case .range: "compound index: a habit's 330 days"
        case .rangeLimit: "index top: four years by date, first 50"
        case .newest: "index order: newest 50 entries"
        case .membership: "membership: entries of 20 habits"
        case .prefix: "index text prefix: habits by name"
        case .top: "unindexed order: 50 largest values"
        case .joinName: "to-one: entries by habit name"
        case .joinArchived: "to-one: entries of archived habits"
        case .anyEntry: "to-many any: habits with value above x"
        case .anyTag: "many-to-many any: habits by tag name"
        case .count: "index count: a habit's entries"
        case .countResidual: "residual count: values above x"
        case .values: "projection: a habit's values, by date"
        case .dates: "index projection: a habit's dates"
        case .identifiers: "identifiers: a habit's range, by date"
        case .contains: "text search: note contains x"
        case .arithmetic: "arithmetic: value × 2 + 1 above x"
        case .regex: "regular expression by Foundation"
        }
    }

    /// How often one round asks it, each time with other values, so that a round takes long enough to be timed.
    var repetitions: Int {
        switch self {
        case .equality, .joinName, .range: 50
        case .rangeLimit, .anyTag, .values, .countResidual: 100
        case .newest, .prefix, .count, .dates, .identifiers: 300
        case .membership: 3
        case .top, .joinArchived, .anyEntry, .contains, .arithmetic, .regex: 1
        }
    }

    /// Whether it returns whole entries, which GRDB can decode in two ways.
    var decodesEntries: Bool {
        switch self {
        case .prefix, .anyEntry, .anyTag, .count, .countResidual, .values, .dates, .identifiers: false
        default: true
        }
    }

    /// Slow queries get fewer rounds.
    func rounds(of wanted: Int) -> Int { self == .regex ? min(wanted, 3) : wanted }
}
