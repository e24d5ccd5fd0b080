/// A user's id, compared by its bytes: Swift considers strings equal that differ only in Unicode normalization, but those are two users.
package struct UserKey: Hashable, Sendable {
    private let bytes: [UInt8]

    /// The key of an id.
    package init(_ user: String) { bytes = Array(user.utf8) }
}
