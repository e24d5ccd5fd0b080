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
        case .equality: "equality by index: a habit's entries"
        case .range: "range of a compound index: a habit's entries of 330 days"
        case .rangeLimit: "top of an index: of four years by date, the first 50"
        case .newest: "order by index: the newest 50 entries"
        case .membership: "membership: the entries of 20 habits"
        case .prefix: "text prefix by index: habits by name"
        case .top: "order without index: the 50 largest values"
        case .joinName: "to-one path: entries by their habit's name"
        case .joinArchived: "to-one path: entries of archived habits"
        case .anyEntry: "to-many, any: habits with a value above x"
        case .anyTag: "many-to-many, any: habits by a tag's name"
        case .count: "count by index: a habit's entries"
        case .countResidual: "count with residual: those with a value above x"
        case .values: "projection: a habit's values, by date"
        case .dates: "projection that the index holds: a habit's dates"
        case .identifiers: "identifiers only: a habit's range, by date"
        case .contains: "text search: entries whose note contains x"
        case .arithmetic: "arithmetic: entries with value × 2 + 1 above x"
        case .regex: "the same by a regular expression, which Foundation evaluates"
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
