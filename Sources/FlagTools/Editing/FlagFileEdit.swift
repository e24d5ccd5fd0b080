import FeatureFlags

/// A textual change at one place in a flag file.
struct FlagFileEdit {
    enum Change {
        /// Replaces the value with this JSON.
        case replace(String)
        /// Adds a member to the object, with this JSON as its value.
        case insert(key: String, String)
        /// Removes the member or element.
        case remove
    }

    let path: [FlagDocument.Step]
    let change: Change

    init(_ path: [FlagDocument.Step], _ change: Change) {
        self.path = path
        self.change = change
    }
}
