/// A store that knows more of its changes than that it can be read: live queries use it.
package protocol LiveSource: HabitStore {
    /// Runs `body` over one moment, for live queries: nothing of it is compared or recorded.
    func readForLiveQueries(_ body: (any ReadTransaction) throws -> Void) throws

    /// A number that is another one after each change, in whatever process, told without reading the store; nil where only
    /// reading tells.
    var changeNumber: UInt64? { get }

    /// Whether what would be read is not what stands in the store's place any more. It opens nothing.
    var isOutOfPlace: Bool { get }

    /// Calls `wake` after changes, as soon as they can be known, until what this returns is let go of. It may be called for
    /// nothing, and is not relied on.
    func observeChanges(_ wake: @escaping @Sendable () -> Void) -> (any AnyObject & Sendable)?
}
