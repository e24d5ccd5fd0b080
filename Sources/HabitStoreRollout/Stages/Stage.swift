/// A user's stage on the way from the old store to the new one, with the field's usual names.
///
/// | stage | reads from | shadow read | authoritative | mirrored to |
/// |---|---|---|---|---|
/// | `off` | old | — | old | — |
/// | `dualwrite` | old | — | old | new |
/// | `shadow` | old | new | old | new |
/// | `live` | new | old | new | old |
/// | `rampdown` | new | — | new | old |
/// | `complete` | new | — | new | — |
public enum Stage: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Only the old store is in use.
    case off
    /// Writes go to the new store too.
    case dualwrite
    /// Reads are compared with the new store.
    case shadow
    /// The new store serves, and reads are compared with the old one.
    case live
    /// The new store serves, and the old one is kept current.
    case rampdown
    /// Only the new store is in use.
    case complete

    /// The store that answers reads, and takes writes first-hand.
    public var authority: StoreSide { self < .live ? .old : .new }

    /// The store whose answers reads are compared with.
    public var shadow: StoreSide? { self == .shadow || self == .live ? authority.other : nil }

    /// The store that every write is replicated to.
    public var mirror: StoreSide? { self == .off || self == .complete ? nil : authority.other }

    /// Whether a write is acknowledged only when the mirror has it too.
    public var awaitsMirror: Bool { self == .live || self == .rampdown }

    /// The stage after this one on the way to the new store.
    public var next: Stage? { Self(position: position + 1) }

    /// The stage's place on the way: 0 for `off`, 5 for `complete`.
    public var position: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// The stage at a place on the way, or nil.
    package init?(position: Int) {
        guard Self.allCases.indices.contains(position) else { return nil }
        self = Self.allCases[position]
    }

    /// Earlier stages first.
    public static func < (left: Stage, right: Stage) -> Bool { left.position < right.position }
}
