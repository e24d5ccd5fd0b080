/// How much work checking one file's rules may still be, in values that are looked at and steps of evaluations.
///
/// A short file can stand for a long one: by evaluators that many rules refer to, and by conditions that are evaluated
/// where each of them stands. Whoever waits for the linter, such as `flags set` with its lock, waits for a limited time.
final class LintWork {
    static let maximum = 20_000_000

    private var rest: Int
    /// Where the work ran out; nil where it did not.
    private(set) var end: Range<Int>?

    init(_ maximum: Int = maximum) { rest = maximum }

    var isSpent: Bool { end != nil }

    /// Takes from what is left. Returns whether there was enough.
    func spend(_ steps: Int, at range: @autoclosure () -> Range<Int>) -> Bool {
        guard rest >= steps else {
            if end == nil { end = range() }
            return false
        }
        rest -= steps
        return true
    }
}
