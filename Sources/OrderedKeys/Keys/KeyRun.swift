import Foundation
@_spi(Engines) import HabitStore

/// Keys that come one after the other and are equal but for their identifiers, or up to a cut text: a run is gathered, put in
/// the query's order, and handed on.
package struct KeyRun {
    /// An entry: what it leads to, and the copy of it that the index holds, empty for none.
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

    /// - Parameter plan: one whose order has to be repaired.
    package init(_ plan: KeyPlan, _ repair: KeyPlan.OrderRepair) {
        self.repair = repair
        order = plan.order
    }

    /// What the keys of a run have in common.
    package struct Beginning {
        fileprivate let shared: UnsafeRawBufferPointer
        /// Whether a text was cut there.
        fileprivate let isCut: Bool
    }

    /// What a key has in common with the others of its run; good as long as the key is.
    package func beginning(of key: UnsafeRawBufferPointer, _ layout: IndexKeyLayout) throws -> Beginning {
        let cut =
            repair.sortsCutTexts ? try layout.endOfFirstCut(key, from: repair.firstPart, at: repair.start) : nil
        let length = cut ?? key.count - KeyFormat.identifierLength
        return Beginning(shared: UnsafeRawBufferPointer(rebasing: key[..<length]), isCut: cut != nil)
    }

    /// Takes an entry in.
    ///
    /// - Returns: false, and nothing is taken, when it belongs to another run: the one before has to be handed on, and this one
    ///   begun.
    package mutating func takes(_ member: Member, at beginning: Beginning) -> Bool {
        guard !members.isEmpty, isCut == beginning.isCut, shared.elementsEqual(beginning.shared) else { return false }
        members.append(member)
        return true
    }

    /// Begins a run, in the place of the one before.
    package mutating func begin(_ member: Member, at beginning: Beginning) {
        shared.removeAll(keepingCapacity: true)
        shared.append(contentsOf: beginning.shared)
        isCut = beginning.isCut
        members.removeAll(keepingCapacity: true)
        members.append(member)
    }

    /// The members in the query's order.
    ///
    /// - Parameter read: hands the record of a member to a body.
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
