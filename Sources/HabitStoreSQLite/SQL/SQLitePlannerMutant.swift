#if PLANNER_MUTANTS
import Foundation
@_spi(Engines) import HabitStore

/// Bugs that an SQL planner could plausibly have, for tests of the checks that must find them. Only in debug builds.
package enum SQLitePlannerMutant: String, CaseIterable, Sendable {
    case excludedLowerBound = "a range begins after its lower bound (> for >=)"
    case includedUpperBound = "a range holds its upper bound (<= for <)"
    case lostResidual = "what SQL cannot answer is forgotten"
    case bytesTakenForCharacters = "text found by its bytes is taken for found by its Characters"
    case unequalIsNeverNull = "!= does not distinguish nil from a value (<> for IS NOT)"
    case notEqualIsUnknown = "the opposite of == does not hold for nil (= for IS)"
    case caseIgnored = "texts are equal whatever their letter case"
    case wrongCollation = "text is ordered whatever its letter case"
    case lostTieBreak = "equal keys are in the order in which the index has them"
    case lostDirection = "the second key of an order is always ascending"
    case limitBeforeFilter = "the limit is applied before the residual"
    case offsetTwice = "the offset is applied by SQL and again above"
    case nilForgottenInList = "nil is never a member of a list"
    case lostBranch = "the last part of an OR is dropped"
    case joinWithDuplicates = "a record comes once for each related record that fulfils a condition"
    case referenceTakenForRecord = "a dangling reference is taken for a record"
    case failuresPassedOver = "records whose evaluation fails are passed over by a later condition"

    /// The plan of a query, with this bug.
    func plan(_ query: BoundQuery, _ planner: SQLitePlanner) throws -> SQLitePlan {
        var changed = query
        changed.filter = rewritten(query.filter)
        var plan = try planner.plan(changed)
        switch self {
        case .lostResidual: plan.residual = nil
        case .bytesTakenForCharacters: plan.residual = plan.residual?.without { $0.isTextTest }
        case .failuresPassedOver: plan.residual = plan.residual.map { _ in query.filter }
        case .offsetTwice: plan.windowIsApplied = false
        case .limitBeforeFilter:
            guard plan.residual != nil, !query.mayFail, plan.orderIsExact, query.limit != nil else { break }
            plan.window = query.window
            plan.sql += " LIMIT ?\(plan.bindings.count + 1) OFFSET ?\(plan.bindings.count + 2)"
            plan.windowIsApplied = true
        case .wrongCollation, .lostTieBreak, .lostDirection: plan.sql = reordered(plan.sql, plan.table)
        case .joinWithDuplicates:
            (plan.sql, plan.countSQL) = (joined(plan.sql), joined(plan.countSQL))
        default:
            (plan.sql, plan.countSQL) = (changedText(plan.sql, plan.table), changedText(plan.countSQL, plan.table))
        }
        return plan
    }

    private func changedText(_ sql: String, _ table: SQLiteTable) -> String {
        switch self {
        case .excludedLowerBound: return sql.replacingOccurrences(of: " >= ?", with: " > ?")
        case .includedUpperBound: return sql.replacingOccurrences(of: " < ?", with: " <= ?")
        case .unequalIsNeverNull: return sql.replacingOccurrences(of: " IS NOT ?", with: " <> ?")
        case .notEqualIsUnknown: return sql.replacingOccurrences(of: " IS ?", with: " = ?")
        case .caseIgnored:
            return table.textColumns.reduce(sql) { sql, column in
                sql.replacingOccurrences(
                    of: "(t[0-9]+\\.\(column) = \\?[0-9]+)",
                    with: "$1 COLLATE NOCASE",
                    options: .regularExpression
                )
            }
        case .referenceTakenForRecord:
            return sql.replacingOccurrences(
                of: #"EXISTS \(SELECT 1 FROM "\w+" AS t[0-9]+ WHERE t[0-9]+\."id" = (t[0-9]+\."\w+")\)"#,
                with: "$1 IS NOT NULL",
                options: .regularExpression
            )
        default: return sql
        }
    }

    private func reordered(_ sql: String, _ table: SQLiteTable) -> String {
        guard let word = sql.range(of: " ORDER BY ", options: .backwards) else { return sql }
        let end = sql.range(of: " LIMIT ", options: .backwards)?.lowerBound ?? sql.endIndex
        guard word.upperBound <= end else { return sql }
        var keys = sql[word.upperBound..<end].components(separatedBy: ", ")
        switch self {
        case .wrongCollation:
            for (place, key) in keys.enumerated() {
                for column in table.textColumns where key.contains("t0.\(column)") {
                    keys[place] = key.replacingOccurrences(of: column, with: "\(column) COLLATE NOCASE")
                }
            }
        case .lostTieBreak: if keys.count > 1 { keys.removeLast() }
        case .lostDirection: if keys.count > 1 { keys[1] = keys[1].replacingOccurrences(of: " DESC", with: "") }
        default: break
        }
        return sql[..<word.upperBound] + keys.joined(separator: ", ") + sql[end...]
    }

    /// Turns the first EXISTS of a conjunction into a join.
    private func joined(_ sql: String) -> String {
        let start = #" AS t0 WHERE EXISTS \(SELECT 1 FROM ("\w+" AS t1) WHERE (t1\."\w+" = t0\."id"( AND t1\."\w+" "#
        return sql.replacingOccurrences(
            of: start + #"[<>=]+ \?[0-9]+)?)\)"#,
            with: " AS t0 JOIN $1 ON $2 WHERE 1",
            options: .regularExpression
        )
    }

    private func rewritten(_ filter: BoundExpression) -> BoundExpression {
        switch self {
        case .nilForgottenInList:
            return filter.mapped { expression in
                guard case .isIn(let member, let values) = expression else { return expression }
                return .isIn(member, values.filter { !$0.isNull })
            }
        case .lostBranch:
            return filter.mapped { expression in
                guard case .or(let parts) = expression, parts.count > 1 else { return expression }
                return .or(Array(parts.dropLast()))
            }
        case .failuresPassedOver:
            guard case .and(let parts) = filter, filter.canFail else { return filter }
            return .and(parts.filter { !$0.canFail } + parts.filter(\.canFail))
        default: return filter
        }
    }
}

extension SQLiteTable {
    fileprivate var textColumns: [String] {
        columnPositions.filter { description.attributes[$0].kind == .string }.map { columns[$0] }
    }
}

extension BoundExpression {
    fileprivate var isTextTest: Bool { if case .text = self { true } else { false } }

    /// The conjunction without some of its conditions; nil if none is left.
    fileprivate func without(_ isDropped: (BoundExpression) -> Bool) -> BoundExpression? {
        let left = conjuncts.filter { !isDropped($0) }
        return left.isEmpty ? nil : .and(left)
    }

    /// Changes the conditions inside conjunctions, disjunctions and negations.
    fileprivate func mapped(_ change: (BoundExpression) -> BoundExpression) -> BoundExpression {
        switch self {
        case .and(let parts): return .and(parts.map { $0.mapped(change) })
        case .or(let parts): return change(.or(parts.map { $0.mapped(change) }))
        case .not(let inner): return .not(inner.mapped(change))
        default: return change(self)
        }
    }
}
#endif
