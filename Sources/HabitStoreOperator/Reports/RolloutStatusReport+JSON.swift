import Foundation
import HabitStore
import HabitStoreRollout

extension RolloutStatusReport {
    /// All users' status as JSON.
    static func json(_ statuses: [UserStatus]) -> JSON {
        let stages = Stage.allCases.map { stage in
            let here = statuses.filter { $0.stage == stage }
            return JSON.object([
                "stage": .string(stage.rawValue),
                "users": .int(here.count),
                "wanted": .int(statuses.count { $0.wanted == stage }),
                "killed": .int(here.count(where: \.isKilled)),
                "lagging": .int(here.count { $0.mirror.isLagging }),
                "unreadable": .int(here.count { !$0.problems.isEmpty }),
            ])
        }
        return .object([
            "users": .array(statuses.map(json)),
            "stages": .array(stages),
            "unknown": .int(statuses.count { $0.stage == nil }),
        ])
    }

    /// A user's status as JSON.
    static func json(_ status: UserStatus) -> JSON {
        .object([
            "user": .string(status.user),
            "stage": .optional(status.stage?.rawValue),
            "movingTo": .optional(status.movingTo?.rawValue),
            "wantedStage": .optional(status.wanted?.rawValue),
            "reason": .optional(status.whyNotThere(user: ShellWord.quoted(status.user))),
            "engine": .optional(status.engine?.rawValue),
            "token": status.token.map { .int(Int($0.rawValue)) } ?? .null,
            "epoch": status.epoch.map { .int($0) } ?? .null,
            "isKilled": .bool(status.isKilled),
            "killTrigger": .optional(status.killTrigger),
            "mirror": .string(status.mirror.text),
            "lag": lag(status.mirror),
            "evidence": evidence(status),
            "nextStage": next(status),
            "notes": .array(status.notes.map { .string($0) }),
            "problems": .array(
                status.problems.map {
                    .object([
                        "place": .string($0.place),
                        "code": .string($0.error.code.rawValue),
                        "message": .string($0.error.description),
                    ])
                }
            ),
        ])
    }

    private static func lag(_ mirror: UserStatus.Mirror) -> JSON {
        guard case .behind(let count) = mirror else { return .null }
        return .int(count)
    }

    private static func evidence(_ status: UserStatus) -> JSON {
        func json(_ difference: UserStatus.Difference?) -> JSON {
            guard let difference else { return .null }
            var found: [String: JSON] = [
                "stage": .string(difference.stage.rawValue), "message": .string(difference.message),
            ]
            found.set("time", difference.time)
            return .object(found)
        }
        func json(_ proof: (time: Date, isClean: Bool)?) -> JSON {
            guard let proof else { return .null }
            var found: [String: JSON] = [
                "isClean": .bool(proof.isClean)
            ]
            found.set("time", proof.time)
            return .object(found)
        }
        return .object([
            "records": .int(status.evidence.records),
            "isIntact": .bool(status.evidence.isIntact),
            "isCutOff": .bool(status.evidence.isCutOff),
            "damage": status.evidence.damage.map {
                .object(["line": .int($0.line), "reason": .string($0.reason)])
            } ?? .null,
            "cleanShadowReads": .int(status.cleanShadowReads),
            "upperBound": .optional(status.next?.upperBound),
            "lastDifference": json(status.evidence.lastDifference),
            "openDifference": json(status.evidence.openDifference),
            "lastVerification": json(status.evidence.lastVerification),
            "lastRehearsal": json(status.evidence.lastRehearsal),
        ])
    }

    private static func next(_ status: UserStatus) -> JSON {
        guard let decision = status.next, let stage = status.stage?.next else { return .null }
        return .object([
            "stage": .string(stage.rawValue),
            "isOpen": .bool(decision.isOpen),
            "reasons": .array(decision.reasons.map { .string($0.description) }),
        ])
    }
}
