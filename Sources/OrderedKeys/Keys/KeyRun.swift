import Foundation
@_spi(Engines) import HabitStore

/// Consecutive keys that are equal except for their identifiers, or up to a truncated text: a run is collected, put in the query's
/// order, and passed on.
package struct KeyRun {
    /// An entry: its record's identifier, and the copy in the index, empty if there is none.
    package struct Member {
        package let id: UUID
        package let copy: UnsafeRawBufferPointer

        package init(id: UUID, copy: UnsafeRawBufferPointer) { (self.id, self.copy) = (id, copy) }
    }

    private let repair: KeyPlan.OrderRepair
    private let order: [BoundQuery.SortKey]
    private var members: [Member] = []
    private var isCut = false
    private var shared: [UInt8] = []

    /// - Parameter plan: one whose order needs a repair.
    package init(_ plan: KeyPlan, _ repair: KeyPlan.OrderRepair) {
        self.repair = repair
        order = plan.order
    }

    /// The part that the keys of a run have in common.
    package struct Beginning {
        fileprivate let shared: UnsafeRawBufferPointer
        /// Whether it ends with a truncated text.
        fileprivate let isCut: Bool
    }

    /// The part that a key shares with the others of its run, valid as long as the key.
    package func beginning(of key: UnsafeRawBufferPointer, _ layout: IndexKeyLayout) throws -> Beginning {
        let cut =
            repair.sortsCutTexts ? try layout.endOfFirstCut(key, from: repair.firstPart, at: repair.start) : nil
        let length = cut ?? key.count - KeyFormat.identifierLength
        return Beginning(shared: UnsafeRawBufferPointer(rebasing: key[..<length]), isCut: cut != nil)
    }

    /// Adds an entry to the run.
    ///
    /// - Returns: false, without adding it, if it belongs to another run: the current one must then be passed on, and a new one
    ///   begun.
    package mutating func takes(_ member: Member, at beginning: Beginning) -> Bool {
        guard !members.isEmpty, isCut == beginning.isCut, shared.elementsEqual(beginning.shared) else { return false }
        members.append(member)
        return true
    }

    /// Begins a run and discards the previous one.
    package mutating func begin(_ member: Member, at beginning: Beginning) {
        shared.removeAll(keepingCapacity: true)
        shared.append(contentsOf: beginning.shared)
        isCut = beginning.isCut
        members.removeAll(keepingCapacity: true)
        members.append(member)
    }

    /// The members in the query's order.
    ///
    /// - Parameter read: passes the record of a member to a body.
    package func ordered(
        _ read: (Member, (inout AttributeReader) throws -> Void) throws -> Void
    ) throws -> [Member] {
        guard isCut else { return repair.reversesEqualKeys ? members.reversed() : members }
        guard members.count > 1 else { return members }
        var keyed: [(values: [Value], member: Member)] = []
        for member in members {
            try read(member) { row in
                keyed.append((try order.map { try row.value(at: $0.position) }, member))
            }
        }
        keyed.sort { left, right in
            for (place, key) in order.enumerated() {
                let comparison = left.values[place].order(comparedWith: right.values[place])
                if comparison != 0 { return (comparison < 0) == key.ascending }
            }
            return false
        }
        return keyed.map(\.member)
    }
}
