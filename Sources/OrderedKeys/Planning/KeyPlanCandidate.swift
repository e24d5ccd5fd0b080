@_spi(Engines) import HabitStore

/// One way to go about a query.
struct KeyPlanCandidate {
    var access: KeyPlan.Access
    var ranges: [KeyRange]
    /// The places of the conditions that the ranges fulfil exactly, each once.
    var consumed: [Int] = []
    /// The places of those that narrowed the ranges and are left to the filter all the same.
    var used: [Int] = []
    /// At most one record for each range.
    var isUnique = false
    var equalities = 0
    var rangeConditions = 0
    var isReverse = false
    var givesOrder = false
    var repair: KeyPlan.OrderRepair?
    var partCount = 0
    /// Whether the index has the records beside its keys, so that none has to be looked up.
    var holdsCopies = false

    var isNarrowed: Bool { equalities + rangeConditions > 0 }

    /// The greater, the better, as far as that can be told without looking at keys.
    ///
    /// - Parameter conditions: how many there are.
    func rank(_ conditions: Int) -> (Int, Int, Int, Int, Int, Int) {
        (
            isUnique ? 1 : 0, equalities, rangeConditions, givesOrder ? 1 : 0,
            consumed.count == conditions ? 1 : 0, holdsCopies ? 1 : -partCount
        )
    }
}
