/// The costs of one operation that do not depend on the machine's load.
struct SteadyCounts: Codable {
    /// Calls of malloc and its variants, rounded to a hundredth; nil if several threads make them at their own pace.
    var allocations: Double?
    /// How many more of them are allowed; nil means 0.02.
    var margin: Double?
    /// Records that the store examined, for queries, or read, for live queries.
    var examined: Int?
    /// Processor instructions.
    var instructions: Int?

    /// The counts above the limit, as texts for a table.
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

    /// The addresses of allocations affect the number of instructions slightly.
    static let tolerance = 0.03
}
