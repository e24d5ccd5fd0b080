extension Int {
    /// The sum of numbers that are not negative, or the largest number: what comes from a file must not overflow.
    package func addingSaturated(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
