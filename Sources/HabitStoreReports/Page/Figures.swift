import Foundation

/// Figures as people read them, the same under every locale.
enum Figures {
    /// Seconds with three digits behind the point.
    static func seconds(_ seconds: Double) -> String { fixed(seconds, 3) }

    /// Milliseconds with three digits that count.
    static func milliseconds(_ milliseconds: Double) -> String {
        switch milliseconds {
        case ..<1: fixed(milliseconds, 3)
        case ..<10: fixed(milliseconds, 2)
        case ..<100: fixed(milliseconds, 1)
        default: fixed(milliseconds, 0)
        }
    }

    /// A number with so many digits behind the point.
    static func fixed(_ number: Double, _ digits: Int) -> String {
        guard number.isFinite else { return "–" }
        return String(format: "%.\(digits)f", number)
    }
}
