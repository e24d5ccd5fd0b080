import Foundation
import Synchronization

/// The sessions of browsers that presented the token: cookies with random names that are listed in memory and expire after some hours.
final class Sessions: Sendable {
    static let cookie = "habitstore"
    /// The lifetime of a session.
    static let seconds = 43_200.0
    /// The most sessions; a new one replaces the oldest.
    static let most = 64

    private let begun = Mutex<[String: ContinuousClock.Instant]>([:])

    /// Begins a session and returns its name.
    func begin() -> String {
        var generator = SystemRandomNumberGenerator()
        let name = (0..<4).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        begun.withLock { begun in
            begun = begun.filter { ContinuousClock.now - $0.value < .seconds(Self.seconds) }
            if begun.count >= Self.most, let oldest = begun.min(by: { $0.value < $1.value })?.key {
                begun[oldest] = nil
            }
            begun[name] = .now
        }
        return name
    }

    /// Whether a session has begun and not ended. The lookup is by hash, so its duration does not reveal how much of a name is right.
    func isOpen(_ name: String) -> Bool {
        begun.withLock { begun in
            guard let begun = begun[name] else { return false }
            return ContinuousClock.now - begun < .seconds(Self.seconds)
        }
    }

    func end(_ name: String) { begun.withLock { $0[name] = nil } }
}
