extension [String] {
    /// The first texts and the number of the others: a table may have hundreds of columns, and a message must stay readable.
    package func listed(_ separator: String = ", ", most: Int = 8) -> String {
        guard count > most + 1 else { return joined(separator: separator) }
        return prefix(most).joined(separator: separator) + " and \(count - most) more"
    }
}
