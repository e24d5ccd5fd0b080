/// A summary of one day's entries.
public struct DayCount: Hashable, Sendable {
    /// The day.
    public let day: LocalDay
    /// The number of entries.
    public internal(set) var count = 0
    /// The number of entries with a value.
    public internal(set) var valueCount = 0
    /// The sum of the values, in the habit's unit; 0 if there are none.
    public internal(set) var valueSum = 0.0

    init(day: LocalDay) { self.day = day }

    /// Counts an entry. NaN and infinite values are ignored; a sum too large for a `Double` is clamped.
    mutating func add(value: Double?) {
        count += 1
        guard let value, value.isFinite else { return }
        valueCount += 1
        valueSum = DayCount.sum(valueSum, value)
    }

    /// The sum of two finite numbers, clamped to the finite range.
    static func sum(_ left: Double, _ right: Double) -> Double {
        let limit = Double.greatestFiniteMagnitude
        return min(limit, max(-limit, left + right))
    }
}
