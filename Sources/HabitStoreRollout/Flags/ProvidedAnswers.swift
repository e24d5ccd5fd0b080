import FeatureFlags
import HabitStore

/// What a provider of an app's own says about a user: all flags of the rollout, asked in one go.
struct ProvidedAnswers: FlagAnswers, Sendable {
    let source: String
    /// The flags that there are.
    var resolutions: [String: Resolution] = [:]
    var failure: String?
    /// The variant with which the kill flag is true; nil where it is not, as far as is known. It counts whatever else has failed.
    var killVariant: String?

    func resolution(_ key: String) -> Resolution? { resolutions[key] }

    func isMissing(_ key: String) -> Bool { failure == nil && resolutions[key] == nil }

    /// Nobody but the provider knows whether its targeting has percentages in it.
    func isBucketed(_ key: String) -> Bool {
        guard let reason = resolutions[key]?.reason else { return false }
        return reason != .static && reason != .default
    }

    /// What tells these answers from others: their values, and their versions, where they have any.
    var identity: String {
        let flags = resolutions.sorted { $0.key < $1.key }.map { key, resolution in
            "\(key)=\(resolution.value.map { "\($0)" } ?? "") \(resolution.flagMetadata["version"].map { "\($0)" } ?? "")"
        }
        return ([source] + flags).joined(separator: "\n")
    }

    /// Whether another reading says the same. The kill flag's word is not waited for twice.
    func isEqual(to other: ProvidedAnswers) -> Bool {
        failure == nil && other.failure == nil && identity == other.identity
            && resolutions.mapValues(\.reason) == other.resolutions.mapValues(\.reason)
    }
}
