extension [String] {
    /// The first of them, and how many there are besides: a table may have hundreds of columns, and a line is to be read.
    package func listed(_ separator: String = ", ", most: Int = 8) -> String {
        guard count > most + 1 else { return joined(separator: separator) }
        return prefix(most).joined(separator: separator) + " and \(count - most) more"
    }
}
