extension Int {
    /// The sum of two non-negative numbers, or the largest number: numbers from a file must not overflow.
    package func addingSaturated(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
