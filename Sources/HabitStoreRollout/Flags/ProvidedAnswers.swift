import FeatureFlags
import HabitStore

/// The answers of an app's own provider about a user: all flags of the rollout, asked for together.
struct ProvidedAnswers: FlagAnswers, Sendable {
    let source: String
    /// The flags that exist.
    var resolutions: [String: Resolution] = [:]
    var failure: String?
    /// The variant with which the kill flag is true; nil if it is false or unknown. It counts even if other flags fail.
    var killVariant: String?

    func resolution(_ key: String) -> Resolution? { resolutions[key] }

    func isMissing(_ key: String) -> Bool { failure == nil && resolutions[key] == nil }

    /// Only the provider knows whether its targeting uses percentages.
    func isBucketed(_ key: String) -> Bool {
        guard let reason = resolutions[key]?.reason else { return false }
        return reason != .static && reason != .default
    }

    /// Identifies these answers: their values, and their versions, if any.
    var identity: String {
        let flags = resolutions.sorted { $0.key < $1.key }.map { key, resolution in
            "\(key)=\(resolution.value.map { "\($0)" } ?? "") \(resolution.flagMetadata["version"].map { "\($0)" } ?? "")"
        }
        return ([source] + flags).joined(separator: "\n")
    }

    /// Whether another reading gave the same answers. Does not compare the kill flag's variant.
    func isEqual(to other: ProvidedAnswers) -> Bool {
        failure == nil && other.failure == nil && identity == other.identity
            && resolutions.mapValues(\.reason) == other.resolutions.mapValues(\.reason)
    }
}
