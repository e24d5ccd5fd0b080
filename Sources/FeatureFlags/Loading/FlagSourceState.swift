import Foundation

/// How things stand with one file.
public struct FlagSourceState: Sendable {
    /// Which flags are in force.
    public enum Status: String, Sendable {
        /// Those of the current file.
        case current
        /// The last good file: what is there now cannot be read.
        case lastGood
        /// Nothing: the file was never good.
        case unavailable
    }

    /// The file.
    public let source: FlagSource
    /// Which of its flags are in force.
    public internal(set) var status: Status = .unavailable
    /// Why the file as it is now cannot be read; nil where it can.
    public internal(set) var error: FlagError?
    /// The SHA-256 digest of the file in force in hexadecimal digits; nil where there is none.
    public internal(set) var digest: String?
    /// When the file in force was read.
    public internal(set) var loadedAt: Date?
    /// The flags of the file in force that cannot be understood.
    public internal(set) var quarantined: [String: FlagError] = [:]
    /// Warnings for the author of the file in force.
    public internal(set) var warnings: [FlagWarning] = []
    /// Kill flags whose definition in the newest file cannot be understood, so that the last good one holds.
    public internal(set) var retainedKillFlags: [String] = []
    /// Kill flags that were read out of damaged files since they were last defined well, see
    /// ``FlagConfiguration/killFlags``.
    public internal(set) var salvagedKillFlags: [String] = []
}
