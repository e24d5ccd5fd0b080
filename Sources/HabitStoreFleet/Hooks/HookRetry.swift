/// When what has failed is tried again.
struct HookRetry: Sendable, Hashable {
    /// How long is waited after the first failure, in seconds; twice as long after each further one, up to the most.
    var firstSeconds = 1.0
    var mostSeconds = 300.0
    /// After how many seconds without success it is said once more.
    var sayAfterSeconds = 3_600.0

    /// How long is waited, drawn anew each time: hooks that failed together are not asked together.
    ///
    /// - Parameter tries: how many have failed, from 1.
    func wait(after tries: Int) -> Double {
        min(mostSeconds, firstSeconds * Double(1 << min(max(0, tries - 1), 30))) * Double.random(in: 0.5...1)
    }
}
