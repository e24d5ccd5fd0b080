import FeatureFlags

/// The evaluators that flags refer to.
final class ReferenceList {
    private(set) var names: Set<String> = []

    func add(_ name: String) { names.insert(name) }
}
