/// How a fetch is made ready for another transaction than the one that it was prepared for.
private final class Remaking: FetchOrigin {
    let prepare: @Sendable (any ReadTransaction) throws -> PreparedFetch

    init(_ prepare: @escaping @Sendable (any ReadTransaction) throws -> PreparedFetch) { self.prepare = prepare }
}

extension PreparedFetch {
    /// Makes the same fetch ready for another transaction, where whoever prepared this one has said how.
    package var remake: (@Sendable (any ReadTransaction) throws -> PreparedFetch)? {
        get { (origin as? Remaking)?.prepare }
        set { origin = newValue.map(Remaking.init) }
    }
}
