import Foundation
import HabitStoreRollout

extension FleetIndex.Entry {
    /// The verdict of who had come to the plan's stage, and is not there any more.
    static let demoted = "demoted"
    /// The verdict of a user whose stores differ.
    static let different = "different"

    /// How many transactions were written since the user came to the plan's stage.
    var writes: Int {
        guard let token, let arrivedToken, token > arrivedToken else { return 0 }
        // The index may be damaged in a way that shows nowhere.
        let (count, isTooMany) = token.subtractingReportingOverflow(arrivedToken)
        return isTooMany ? .max : count
    }

    /// A member of whom nothing is known but what was seen.
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

    /// Takes what was seen of the user.
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
