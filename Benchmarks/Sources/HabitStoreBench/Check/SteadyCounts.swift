/// What one operation costs in figures that do not depend on the machine's mood.
struct SteadyCounts: Codable {
    /// Calls of malloc and its kin, a hundredth at the finest; nil where several threads make them at their own pace.
    var allocations: Double?
    /// How many more of them are no excess; 0.02 where nothing is said.
    var margin: Double?
    /// Records that the store looked at, for queries, or read, for live queries.
    var examined: Int?
    /// Instructions of the processor.
    var instructions: Int?

    /// What of it is more than it was allowed to be, as words for a table.
    func excesses(over limit: SteadyCounts) -> [String] {
        var found: [String] = []
        if let allocations, let allowed = limit.allocations, allocations > allowed + (limit.margin ?? 0.02) {
            found.append("allocations, \(allowed) allowed")
        }
        if let examined, let allowed = limit.examined, examined > allowed {
            found.append("records, \(allowed) allowed")
        }
        if let instructions, let allowed = limit.instructions,
            Double(instructions) > Double(allowed) * (1 + Self.tolerance)
        {
            found.append("instructions, \(allowed) allowed")
        }
        return found
    }

    /// Where the memory lies that an allocation gets decides over some instructions.
    static let tolerance = 0.03
}
