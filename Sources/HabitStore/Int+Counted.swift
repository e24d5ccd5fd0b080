extension Int {
    /// The number with what it counts: "1 user", "2 users", "2 entries".
    ///
    /// - Parameters:
    ///   - noun: the word for one.
    ///   - plural: the word for any other number; nil where that has an `s` at its end.
    package func counted(_ noun: String, plural: String? = nil) -> String {
        "\(self) \(self == 1 ? noun : plural ?? noun + "s")"
    }
}
