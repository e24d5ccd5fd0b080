/// A user's id as what it is by its bytes: Swift takes texts for equal that differ in their Unicode form only, which are two users.
package struct UserKey: Hashable, Sendable {
    private let bytes: [UInt8]

    /// The key of an id.
    package init(_ user: String) { bytes = Array(user.utf8) }
}
