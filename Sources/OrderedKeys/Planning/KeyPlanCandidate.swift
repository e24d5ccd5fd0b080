@_spi(Engines) import HabitStore

/// One way to execute a query.
struct KeyPlanCandidate {
    var access: KeyPlan.Access
    var ranges: [KeyRange]
    /// The distinct positions of the conditions that the ranges meet exactly.
    var consumed: [Int] = []
    /// The positions of the conditions that narrowed the ranges but must still be evaluated.
    var used: [Int] = []
    /// Whether each range has at most one record.
    var isUnique = false
    var equalities = 0
    var rangeConditions = 0
    var isReverse = false
    var givesOrder = false
    var repair: KeyPlan.OrderRepair?
    var partCount = 0
    /// Whether the index has copies of the records, so that none must be looked up.
    var holdsCopies = false

    var isNarrowed: Bool { equalities + rangeConditions > 0 }

    /// Higher is better, as far as can be decided without reading keys.
    ///
    /// - Parameter conditions: the number of conditions.
    func rank(_ conditions: Int) -> (Int, Int, Int, Int, Int, Int) {
        (
            isUnique ? 1 : 0, equalities, rangeConditions, givesOrder ? 1 : 0,
            consumed.count == conditions ? 1 : 0, holdsCopies ? 1 : -partCount
        )
    }
}
