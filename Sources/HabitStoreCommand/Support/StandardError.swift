import Foundation

/// Standard error, for errors, notes and progress.
enum StandardError {
    /// Writes a text. There is nobody left to tell when that fails.
    static func write(_ text: String) { _ = Output.writeAll(text, to: STDERR_FILENO) }
}
