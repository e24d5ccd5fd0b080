/// When to retry a failed delivery.
struct HookRetry: Sendable, Hashable {
    /// The wait after the first failure, in seconds; it doubles after each further one, up to `mostSeconds`.
    var firstSeconds = 1.0
    var mostSeconds = 300.0
    /// After this many seconds without success, the failure is reported once more.
    var sayAfterSeconds = 3_600.0

    /// A random wait, so that hooks that failed together are not retried together.
    ///
    /// - Parameter tries: how many tries have failed, from 1.
    func wait(after tries: Int) -> Double {
        min(mostSeconds, firstSeconds * Double(1 << min(max(0, tries - 1), 30))) * Double.random(in: 0.5...1)
    }
}
