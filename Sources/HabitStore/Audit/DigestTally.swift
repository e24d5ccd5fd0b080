import Foundation

/// Adds up what is read of an entity, and holds it against the digests that the store has kept.
@_spi(Engines) public struct DigestTally {
    /// A kept digest that is not that of the records in its range.
    public struct Deviation: Sendable, Codable {
        /// The stored digest.
        public let leaf: DigestLeaf
        /// The digest of the records that were found.
        public let found: RecordDigest
    }

    /// How far it has come: without the kept digests, which the store has.
    public struct State: Codable {
        fileprivate var place = 0
        fileprivate var found = RecordDigest()
        fileprivate var deviations: [Deviation] = []

        /// Before the first record.
        public init() {}

        /// Whether it can be a state; one that was read from a file need not be.
        package var isPlausible: Bool { place >= 0 }
    }

    private let leaves: [DigestLeaf]
    /// How far it has come.
    public private(set) var state: State
    /// The last identifier of the range that is being added up, as two numbers of the same order.
    private var last: (UInt64, UInt64)

    /// Begins or continues a tally.
    ///
    /// - Parameters:
    ///   - leaves: the stored digests, ascending.
    ///   - state: the state of an earlier run with them.
    public init(_ leaves: [DigestLeaf], _ state: State = State()) {
        self.leaves = leaves
        self.state = state
        last = Self.last(leaves, state.place)
    }

    private static func last(_ leaves: [DigestLeaf], _ place: Int) -> (UInt64, UInt64) {
        place < leaves.count ? leaves[place].range.last.words : (.max, .max)
    }

    /// The number of kept digests.
    public var count: Int { leaves.count }

    /// The kept digests, so far, that are not those of their records.
    public var deviations: [Deviation] { state.deviations }

    /// Adds the record that a cursor stands on; they come ascending.
    public mutating func add(_ cursor: any AuditCursor) {
        let canonical = cursor.canonical
        let id: (UInt64, UInt64)
        if canonical.count >= 17, canonical[0] == CanonicalForm.Tag.uuid.rawValue {
            id = (
                UInt64(bigEndian: canonical.loadUnaligned(fromByteOffset: 1, as: UInt64.self)),
                UInt64(bigEndian: canonical.loadUnaligned(fromByteOffset: 9, as: UInt64.self))
            )
        } else {
            id = cursor.identifier.words
        }
        while last < id, state.place < leaves.count { close() }
        state.found += RecordDigest(canonical)
    }

    /// Closes the remaining leaves, after the last record.
    public mutating func finish() {
        while state.place < leaves.count { close() }
    }

    private mutating func close() {
        let leaf = leaves[state.place]
        if leaf.digest != state.found { state.deviations.append(Deviation(leaf: leaf, found: state.found)) }
        state.found = RecordDigest()
        state.place += 1
        last = Self.last(leaves, state.place)
    }
}
