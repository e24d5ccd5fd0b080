import Foundation
import HabitStore

/// Adds up what is read of an entity, and holds it against the digests that the store has kept.
struct DigestTally {
    /// A kept digest that is not that of the records in its range.
    struct Deviation: Codable {
        let leaf: DigestLeaf
        let found: RecordDigest
    }

    /// How far it has come: without the kept digests, which the store has.
    struct State: Codable {
        fileprivate var place = 0
        fileprivate var found = RecordDigest()
        fileprivate var deviations: [Deviation] = []
    }

    private let leaves: [DigestLeaf]
    private(set) var state: State
    private var last: UUID

    /// - Parameters:
    ///   - leaves: what was kept, ascending; at least one.
    ///   - state: how far an earlier run had come with them.
    init(_ leaves: [DigestLeaf], _ state: State = State()) {
        self.leaves = leaves
        self.state = state
        last = state.place < leaves.count ? leaves[state.place].range.last : IdentifierRange.all.last
    }

    var count: Int { leaves.count }

    var deviations: [Deviation] { state.deviations }

    /// Adds a record; they come ascending.
    mutating func add(_ id: UUID, _ canonical: UnsafeRawBufferPointer) {
        while last.isBefore(id), state.place < leaves.count { close() }
        state.found += RecordDigest(canonical)
    }

    /// Closes what is left, behind the last record.
    mutating func finish() {
        while state.place < leaves.count { close() }
    }

    private mutating func close() {
        let leaf = leaves[state.place]
        if leaf.digest != state.found { state.deviations.append(Deviation(leaf: leaf, found: state.found)) }
        state.found = RecordDigest()
        state.place += 1
        last = state.place < leaves.count ? leaves[state.place].range.last : IdentifierRange.all.last
    }
}
