import Foundation

/// Formats numbers for people, the same in every locale.
enum Figures {
    /// Seconds with three decimals.
    static func seconds(_ seconds: Double) -> String { fixed(seconds, 3) }

    /// Milliseconds with three significant digits.
    static func milliseconds(_ milliseconds: Double) -> String {
        switch milliseconds {
        case ..<1: fixed(milliseconds, 3)
        case ..<10: fixed(milliseconds, 2)
        case ..<100: fixed(milliseconds, 1)
        default: fixed(milliseconds, 0)
        }
    }

    /// A number with this many decimals.
    static func fixed(_ number: Double, _ digits: Int) -> String {
        guard number.isFinite else { return "–" }
        return String(format: "%.\(digits)f", number)
    }
}
