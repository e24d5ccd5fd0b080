/// The numbers in a Core Data file that only ever grow: each entity's highest key and the last history transaction.
struct GrowingNumbers {
    private var numbers: [String: Int64] = [:]

    /// Reads the numbers; an unreadable file has none.
    init(_ connection: SourceConnection?) {
        guard let connection else { return }
        if let statement = try? connection.prepare("SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY") {
            while (try? statement.step()) == true {
                numbers["highest key of \(statement.text(0) ?? "")"] = statement.optionalInt(1) ?? 0
            }
        }
        if let last = try? connection.int("SELECT max(Z_PK) FROM ATRANSACTION") { numbers["last transaction"] = last }
    }

    /// The name of a number that is greater here than in `other`.
    func firstGreater(than other: GrowingNumbers) -> String? {
        numbers.keys.sorted().first { name in
            guard let there = other.numbers[name], let here = numbers[name] else { return false }
            return here > there
        }
    }
}
