#if PLANNER_MUTANTS
@_spi(Engines) import HabitStore

/// A planner bug, planted by tests of the checks that must find it. Release builds have none.
package enum KeyPlannerMutant: String, CaseIterable, Sendable {
    case lessOrEqualIsLess = "a wrong bound: <= is looked up as <"
    case greaterIsGreaterOrEqual = "a wrong bound: > is looked up as >="
    case nilIsLeast = "nil logic: < takes nil for the least value"
    case unequalLosesNil = "nil logic: != is looked up as less or greater, which nil is not"
    case membershipLosesNil = "nil logic: membership forgets nil"
    case prefixIsExact = "the bytes of a prefix are taken for its Characters"
    case danglingReferenceIsRecord = "a dangling reference is taken for a record"
    case narrowsBehindFailure = "conditions after one that can fail narrow the search"
    case residualIsLost = "what is left of the filter is lost"
    case tieBreakIsDropped = "a backwards walk leaves equal keys backwards, too"
    case windowPrecedesFilter = "offset and limit are applied before the rest of the filter"
    case offsetIsAppliedTwice = "the offset is applied twice"
    case unionLosesLastBranch = "the last of several alternatives is lost"
    case joinLosesRecordsWithoutReference = "a condition that nothing fulfils, too, is looked up by references"

    func plant(in conditions: inout [KeyPlanCondition], _ query: BoundQuery, _ schema: Schema) {
        if self == .narrowsBehindFailure, case .and(let parts) = query.filter, query.filter.canFail {
            conditions = parts.filter { !$0.canFail && !$0.isAlwaysTrue }.map { KeyPlanCondition($0) }
        }
        for place in conditions.indices {
            if let bug = replacement(conditions[place].expression, schema.entities[query.entity].attributes) {
                conditions[place].expression = bug
            }
        }
    }

    private func replacement(
        _ condition: BoundExpression,
        _ attributes: [AttributeDescription]
    ) -> BoundExpression? {
        if self == .membershipLosesNil, case .isIn(let member, let values) = condition {
            return .isIn(member, values.filter { $0 != .null })
        }
        if self == .danglingReferenceIsRecord, case .exists(let path) = condition, path.variable == 0,
            path.hops.count == 1
        {
            let position = path.hops[0].attribute
            return .compare(.notEqual, .rootAttribute(position, attributes[position]), .literal(.null))
        }
        guard let root = condition.rootComparison, root.value != .null else { return nil }
        let attribute = BoundExpression.rootAttribute(root.position, attributes[root.position])
        func compare(_ comparison: FilterExpression.Comparison) -> BoundExpression {
            .compare(comparison, attribute, .literal(root.value))
        }
        switch (self, root.comparison) {
        case (.lessOrEqualIsLess, .lessOrEqual): return compare(.less)
        case (.greaterIsGreaterOrEqual, .greater): return compare(.greaterOrEqual)
        case (.nilIsLeast, .less): return .or([compare(.less), .compare(.equal, attribute, .literal(.null))])
        case (.unequalLosesNil, .notEqual): return .or([compare(.less), compare(.greater)])
        default: return nil
        }
    }

    func plant(in plan: inout KeyPlan, _ query: BoundQuery) {
        switch self {
        case .residualIsLost where plan.isNarrowed: plan.residual = nil
        case .prefixIsExact where plan.isNarrowed:
            if case .text(.beginsWith, _, _)? = plan.residual { plan.residual = nil }
        case .tieBreakIsDropped: plan.repair?.reversesEqualKeys = false
        case .windowPrecedesFilter where plan.residual != nil && plan.orderIsExact && !query.mayFail:
            plan.window = query.window
            plan.windowIsApplied = true
        case .offsetIsAppliedTwice: plan.windowIsApplied = false
        default: break
        }
    }
}
#endif
