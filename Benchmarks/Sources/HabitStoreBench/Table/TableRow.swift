/// One row of the table: what a kind of work took everybody who did it.
struct TableRow: Codable {
    let engine: TableEngine
    let layout: EntryLayout
    let work: Work
    let title: String
    /// Medians of one time each, by the contestants' names.
    let milliseconds: [String: Double]
    let goal: Double?
    let lead: Double?

    var subject: String { layout == .clustered ? "\(engine.rawValue), clustered" : engine.rawValue }

    var ours: Double { milliseconds["ours"] ?? .nan }

    /// Our time to that of the C program.
    var ratio: Double? { milliseconds["C"].map { ours / $0 } }

    var isGoalMet: Bool? {
        guard let ratio, let goal else { return nil }
        return ratio <= goal
    }

    /// How many times faster than GRDB in that style we are.
    func ahead(of style: GRDBTableContestant.Style) -> Double? { milliseconds[style.rawValue].map { $0 / ours } }

    var isLeadMet: Bool? {
        guard let ahead = ahead(of: .codable), let lead else { return nil }
        return ahead >= lead
    }
}
