import FeatureFlags

/// One change to one place of a flag file, as text.
struct FlagFileEdit {
    enum Change {
        /// Another value, written as JSON.
        case replace(String)
        /// A new member of the object at the place, its value written as JSON.
        case insert(key: String, String)
        /// The member or element goes.
        case remove
    }

    let path: [FlagDocument.Step]
    let change: Change

    init(_ path: [FlagDocument.Step], _ change: Change) {
        self.path = path
        self.change = change
    }
}
