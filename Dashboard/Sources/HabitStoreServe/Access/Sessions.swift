import Foundation
import Synchronization

/// Who has shown the token, for as long as this process and some hours: cookies with random names, of which the server keeps the list.
final class Sessions: Sendable {
    /// The cookie's name.
    static let cookie = "habitstore"
    /// How long a session lasts.
    static let seconds = 43_200.0
    /// How many there may be; the oldest one makes room.
    static let most = 64

    private let begun = Mutex<[String: ContinuousClock.Instant]>([:])

    /// Begins a session, and gives its name.
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

    /// Whether a session has begun and not ended. It is found by its hash, so that no time tells how much of a name is right.
    func isOpen(_ name: String) -> Bool {
        begun.withLock { begun in
            guard let begun = begun[name] else { return false }
            return ContinuousClock.now - begun < .seconds(Self.seconds)
        }
    }

    /// Ends a session.
    func end(_ name: String) { begun.withLock { $0[name] = nil } }
}
