/// The access path of a plan, from which its description is made on request.
struct KeyAccessPath {
    /// The entity's name.
    let entity: String
    /// The title of the index that is walked, and whether it contains copies; nil for the records themselves.
    var index: (title: String, holdsCopies: Bool)?
    /// Whether the plan does not visit every record.
    var isNarrowed = true
    /// Whether an index is walked only up to the limit.
    var stopsAtLimit = false
    /// The access paths that found the identifiers of the records.
    var sources: [String] = []
    /// Whether there is nothing to find.
    var isEmpty = false

    /// The description; it begins with `scan` if every record of the entity is visited.
    var description: String {
        if isEmpty { return "no record of \(entity)" }
        var path = "\(isNarrowed ? "primary key" : "scan") \(entity)"
        if let index {
            let title = index.holdsCopies ? "clustering index \(index.title)" : "index \(index.title)"
            // In the index's order, and only up to the limit: the rest is not visited.
            path = isNarrowed || stopsAtLimit ? title : "scan \(entity) by \(title)"
        }
        if !sources.isEmpty { path += " by " + sources.joined(separator: " and ") }
        return path
    }
}
