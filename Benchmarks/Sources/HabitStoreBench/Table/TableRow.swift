/// A row of the table: the times of a kind of work on all sides that did it.
struct TableRow: Codable {
    let engine: TableEngine
    let layout: EntryLayout
    let work: Work
    let title: String
    /// The median time of one operation, by the contestants' names.
    let milliseconds: [String: Double]
    let goal: Double?
    let lead: Double?

    var subject: String { layout == .clustered ? "\(engine.rawValue), clustered" : engine.rawValue }

    var ours: Double { milliseconds["ours"] ?? .nan }

    /// Our time divided by the C program's.
    var ratio: Double? { milliseconds["C"].map { ours / $0 } }

    var isGoalMet: Bool? {
        guard let ratio, let goal else { return nil }
        return ratio <= goal
    }

    /// How many times faster than GRDB in that style our store is.
    func ahead(of style: GRDBTableContestant.Style) -> Double? { milliseconds[style.rawValue].map { $0 / ours } }

    var isLeadMet: Bool? {
        guard let ahead = ahead(of: .codable), let lead else { return nil }
        return ahead >= lead
    }
}
