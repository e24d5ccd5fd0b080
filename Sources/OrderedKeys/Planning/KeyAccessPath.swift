/// The way that a plan takes, from which its text for people is made when someone asks for it.
struct KeyAccessPath {
    /// The entity's name.
    let entity: String
    /// The title of the index that is walked, and whether it holds copies; nil for the records themselves.
    var index: (title: String, holdsCopies: Bool)?
    /// Whether not every record is looked at.
    var isNarrowed = true
    /// Whether an index is walked no further than to the limit.
    var stopsAtLimit = false
    /// What led to the identifiers by which the records are found.
    var sources: [String] = []
    /// Whether there is nothing to be found.
    var isEmpty = false

    /// The text; it begins with `scan` when every record of the entity is looked at.
    var description: String {
        if isEmpty { return "no record of \(entity)" }
        var path = "\(isNarrowed ? "primary key" : "scan") \(entity)"
        if let index {
            let title = index.holdsCopies ? "clustering index \(index.title)" : "index \(index.title)"
            // In its order, and only as far as the limit: the others are not looked at.
            path = isNarrowed || stopsAtLimit ? title : "scan \(entity) by \(title)"
        }
        if !sources.isEmpty { path += " by " + sources.joined(separator: " and ") }
        return path
    }
}
