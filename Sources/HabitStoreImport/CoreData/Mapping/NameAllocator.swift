/// Gives out names that differ from one another also for those who take capitals and small letters for the same, as SQLite
/// does.
struct NameAllocator {
    private var taken: Set<String> = []

    /// The name itself, or the name with underscores behind it.
    mutating func allocate(_ name: String) -> String {
        var result = name
        while !taken.insert(result.lowercased()).inserted { result += "_" }
        return result
    }

    /// Whether a name is free.
    func isFree(_ name: String) -> Bool { !taken.contains(name.lowercased()) }
}
