/// The lines of the evidence that their writers reported to the stores, by record number.
///
/// Most users have one range. A process that dies between a line and its report to the stores leaves a gap, and so do lines that were added without
/// the stores.
struct VouchedLines: Sendable, Hashable {
    /// The most ranges that are kept; beyond that, the oldest no longer count.
    static let maximumRanges = 32
    /// No log has so many lines; adding to an end cannot overflow.
    private static let largest = Int.max / 2

    /// Ascending, and no range begins where another ends.
    private(set) var ranges: [ClosedRange<Int>] = []

    init() {}

    /// All lines up to `last`.
    init(through last: Int) { insert(1, last) }

    /// Reads the form of ``text``: `1-120,126-130`.
    ///
    /// - Returns: nil for anything else.
    init?(_ text: String) {
        guard !text.isEmpty else { return }
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard ends.count == 2, let first = ends[0], let last = ends[1], first > (ranges.last?.upperBound ?? 0),
                last >= first, last <= Self.largest
            else { return nil }
            ranges.append(first...last)
        }
        guard ranges.count <= Self.maximumRanges else { return nil }
    }

    var text: String { ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",") }

    func contains(_ number: Int) -> Bool { ranges.contains { $0.contains(number) } }

    mutating func insert(_ first: Int, _ last: Int) {
        guard first >= 1, last >= first, last <= Self.largest else { return }
        var joined = first...last
        var others: [ClosedRange<Int>] = []
        for range in ranges {
            if range.lowerBound <= joined.upperBound + 1, joined.lowerBound <= range.upperBound + 1 {
                joined = min(range.lowerBound, joined.lowerBound)...max(range.upperBound, joined.upperBound)
            } else {
                others.append(range)
            }
        }
        ranges = Array((others + [joined]).sorted { $0.lowerBound < $1.lowerBound }.suffix(Self.maximumRanges))
    }
}
