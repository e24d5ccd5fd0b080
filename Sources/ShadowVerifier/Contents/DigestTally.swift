import Foundation
import HabitStore

/// Adds up what is read of an entity, and holds it against the digests that the store has kept.
struct DigestTally: Codable {
    /// A kept digest that is not that of the records in its range.
    struct Deviation: Codable {
        let leaf: DigestLeaf
        let found: RecordDigest
    }

    private let leaves: [DigestLeaf]
    private var place = 0
    private var last: UUID
    private var found = RecordDigest()
    private(set) var deviations: [Deviation] = []

    /// - Parameter leaves: what was kept, ascending; at least one.
    init(_ leaves: [DigestLeaf]) {
        self.leaves = leaves
        last = leaves.first?.range.last ?? IdentifierRange.all.last
    }

    var count: Int { leaves.count }

    /// Adds a record; they come ascending.
    mutating func add(_ id: UUID, _ canonical: UnsafeRawBufferPointer) {
        while last.isBefore(id), place < leaves.count { close() }
        found += RecordDigest(canonical)
    }

    /// Closes what is left, behind the last record.
    mutating func finish() {
        while place < leaves.count { close() }
    }

    private mutating func close() {
        if leaves[place].digest != found { deviations.append(Deviation(leaf: leaves[place], found: found)) }
        found = RecordDigest()
        place += 1
        last = place < leaves.count ? leaves[place].range.last : IdentifierRange.all.last
    }
}
