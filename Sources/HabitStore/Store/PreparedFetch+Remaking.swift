/// How a fetch is made ready for another transaction than the one that it was prepared for.
private final class Remaking: FetchOrigin {
    let prepare: @Sendable (any ReadTransaction) throws -> PreparedFetch

    init(_ prepare: @escaping @Sendable (any ReadTransaction) throws -> PreparedFetch) { self.prepare = prepare }
}

extension PreparedFetch {
    /// Prepares the same fetch for another transaction, if the preparer allows it.
    package var remake: (@Sendable (any ReadTransaction) throws -> PreparedFetch)? {
        get { (origin as? Remaking)?.prepare }
        set { origin = newValue.map(Remaking.init) }
    }
}
