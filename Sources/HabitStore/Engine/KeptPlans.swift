/// The plans that an engine keeps, by the shapes of their queries' filters.
package struct KeptPlans<Plan> {
    /// When there are more, all are forgotten: whoever asks for so many asks for few of them often.
    @usableFromInline static var most: Int { 64 }

    @usableFromInline var plans: [ObjectIdentifier: [Plan]] = [:]
    @usableFromInline var count = 0

    /// None.
    @inlinable
    package init() {}

    /// The first plan of a shape that fits.
    @inlinable
    package func first(of shape: PredicateShape, where fits: (Plan) -> Bool) -> Plan? {
        plans[ObjectIdentifier(shape)]?.first(where: fits)
    }

    /// Keeps a plan, which has to keep the shape: no other may take its place in memory.
    @inlinable
    package mutating func keep(_ plan: Plan, of shape: PredicateShape) {
        if count >= Self.most { self = KeptPlans() }
        plans[ObjectIdentifier(shape), default: []].append(plan)
        count += 1
    }
}

extension KeptPlans: Sendable where Plan: Sendable {}
