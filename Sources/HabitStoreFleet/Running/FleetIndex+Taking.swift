import Foundation
import HabitStoreRollout

extension FleetIndex.Entry {
    /// The verdict on a user who reached the plan's stage and has left it.
    static let demoted = "demoted"
    /// The verdict on a user whose stores differ.
    static let different = "different"

    /// How many transactions were written since the user reached the plan's stage.
    var writes: Int {
        guard let token, let arrivedToken, token > arrivedToken else { return 0 }
        // A damaged index may contain any numbers.
        let (count, isTooMany) = token.subtractingReportingOverflow(arrivedToken)
        return isTooMany ? .max : count
    }

    /// An entry for a member from a first look.
    init(_ member: FleetMembers.Member, _ found: FleetMover.Found, _ plan: FleetPlan) {
        self.init(
            user: member.user,
            wave: member.wave,
            lane: member.lane,
            bytes: member.bytes,
            cleanReads: 0
        )
        take(found, plan)
    }

    /// Updates the entry with what was seen of the user.
    mutating func take(_ found: FleetMover.Found, _ plan: FleetPlan) {
        verdict = found.verdict
        reasons = found.reasons
        difference = found.difference ?? difference
        guard let stage = found.stage else { return }
        if stage != self.stage { moved = Date().timeIntervalSince1970 }
        (self.stage, epoch, token, lag) = (stage, found.epoch, found.token, found.lag)
        cleanReads = found.cleanReads
        if stage >= plan.stage {
            if arrived == nil { (arrived, arrivedToken) = (Date().timeIntervalSince1970, found.token) }
        } else if arrived != nil {
            arrived = nil
            verdict = Self.demoted
        }
    }
}
