/// Allocates names that also differ if case is ignored, as SQLite does.
struct NameAllocator {
    private var taken: Set<String> = []

    /// The name, with as many underscores appended as it takes to make it unique.
    mutating func allocate(_ name: String) -> String {
        var result = name
        while !taken.insert(result.lowercased()).inserted { result += "_" }
        return result
    }

    func isFree(_ name: String) -> Bool { !taken.contains(name.lowercased()) }
}
