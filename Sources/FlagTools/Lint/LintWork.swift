/// The remaining work for checking a file's rules, in examined values and evaluation steps.
///
/// A short file can take as much work as a long one, because many rules may refer to one evaluator, and conditions are evaluated at each occurrence.
/// The limit bounds how long callers wait for the linter, such as `flags set`, which holds a lock.
final class LintWork {
    static let maximum = 20_000_000

    private var rest: Int
    /// Where the work ran out; nil if it did not.
    private(set) var end: Range<Int>?

    init(_ maximum: Int = maximum) { rest = maximum }

    var isSpent: Bool { end != nil }

    /// Takes steps from the remaining work and returns whether there were enough.
    func spend(_ steps: Int, at range: @autoclosure () -> Range<Int>) -> Bool {
        guard rest >= steps else {
            if end == nil { end = range() }
            return false
        }
        rest -= steps
        return true
    }
}
