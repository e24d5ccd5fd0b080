/// A kind of work on a store on a server.
enum ServerWork: String, CaseIterable {
    case read = "a record by its id"
    case range = "30 records of a range"
    case update = "one record changed"
    case insert = "one record inserted"
    case batch = "1,000 records inserted"

    /// The number of operations in a round.
    func count(delayed: Bool) -> Int {
        switch self {
        case .read: delayed ? 40 : 400
        case .range: delayed ? 20 : 200
        case .update, .insert: delayed ? 20 : 100
        case .batch: delayed ? 2 : 5
        }
    }

    /// The number of records that one operation writes.
    var records: Int {
        switch self {
        case .read, .range: 0
        case .update, .insert: 1
        case .batch: 1_000
        }
    }
}
