import Foundation
import HabitStore
import HabitStoreRollout
import Synchronization

/// Moves single users, and looks at them.
struct FleetMover: Sendable {
    /// What was seen of a user.
    struct Found: Sendable {
        let user: String
        var stage: Stage?
        var epoch: Int?
        var token: Int?
        var lag: Int?
        var cleanReads = 0
        /// What it came to, in a word.
        var verdict: String?
        /// Why the user waits, by the kinds of the gate's reasons.
        var reasons: String?
        /// What went wrong.
        var error: String?
        /// A difference between the user's stores: one that was found since the last resume, or that nothing has refuted.
        var difference: String?
        /// Whether it was found since the last resume.
        var isDifferenceNew = false
        /// Whether a complete verification found no difference, and nothing has since.
        var isVerified = false
        /// Whether a verification came to no conclusion.
        var isInconclusive = false
        /// Whether the fleet goes on without the user, who was killed.
        var cannotBeMoved = false
    }

    let stores: UserStores
    let plan: FleetPlan
    let signals: FleetSignals

    /// Marks the end of a try that the fleet has stopped.
    struct Stopped: Error {}

    /// Moves users concurrently, each to a stage.
    func move(_ users: [(user: String, stage: Stage)], since: Date) -> [Found] {
        let results = Results<Found>()
        let group = DispatchGroup()
        for (number, (user, stage)) in users.enumerated() {
            Self.queue.async(group: group) { results.take(move(user, to: stage, since: since), number) }
        }
        group.wait()
        return results.all
    }

    /// Looks at users, several at once.
    func look(at users: [String], since: Date = .distantFuture) -> [Found] {
        each(users) { look(at: $0, since: since) }
    }

    /// What came of comparing a user's two stores.
    struct Compared: Sendable {
        let user: String
        /// Whether there were two to compare.
        var isCompared = true
        /// What differs, or why that could not be told.
        var problem: String?
    }

    /// Compares users' stores by their kept digests, several at once.
    func compare(_ users: [String]) -> [Compared] { each(users) { compare($0) } }

    /// Most of the time that a user takes is spent waiting, for files to be opened and for the thread that asks a store: with one user
    /// for each processor, half of them would be idle.
    private static let usersEachProcessor = 4

    private func each<Result: Sendable>(
        _ users: [String],
        _ work: @escaping @Sendable (String) -> Result
    ) -> [Result] {
        let results = Results<Result>()
        let group = DispatchGroup()
        let places = DispatchSemaphore(
            value: ProcessInfo.processInfo.activeProcessorCount * Self.usersEachProcessor
        )
        for (number, user) in users.enumerated() {
            places.wait()
            Self.queue.async(group: group) {
                results.take(work(user), number)
                places.signal()
            }
        }
        group.wait()
        return results.all
    }

    private func compare(_ user: String) -> Compared {
        var compared = Compared(user: user)
        do {
            guard let report = try stores.quickComparison(of: user) else {
                compared.isCompared = false
                return compared
            }
            guard report.verdict != .match else { return compared }
            compared.problem =
                "the stores differ: "
                + (report.differences.first?.message ?? report.reason
                    ?? "they could not be compared (\(report.verdict.rawValue))")
        } catch {
            compared.problem = "the stores cannot be compared: \(error)"
        }
        return compared
    }

    private final class Results<Result: Sendable>: Sendable {
        private let found = Mutex<[Int: Result]>([:])

        func take(_ result: Result, _ number: Int) { found.withLock { $0[number] = result } }

        /// In the order of the users.
        var all: [Result] { found.withLock { found in found.sorted { $0.key < $1.key }.map(\.value) } }
    }

    private static let queue = DispatchQueue(label: "habitstore.fleet", attributes: .concurrent)

    private func move(_ user: String, to stage: Stage, since: Date) -> Found {
        var decision: GateDecision?
        do {
            let store = try stores.existingStore(for: user)
            defer { store.close() }
            decision = try store.advance(to: stage, permit: { if signals.isHalted { throw Stopped() } })
        } catch is Stopped {
            return look(at: user, since: since)
        } catch {
            var found = Found(user: user)
            found.verdict = "error"
            found.error = "\(error)"
            found.reasons = (error as? HabitStoreError)?.code.rawValue ?? "error"
            return found
        }
        var found = look(at: user, since: since)
        guard let decision, !decision.isOpen else {
            if stage < plan.stage, found.stage == stage, found.verdict == "sound" {
                (found.verdict, found.reasons) = ("waits", GateReason.Kind.tooFewShadowReads.rawValue)
            }
            return found
        }
        found.verdict = "waits"
        found.reasons = decision.reasons.map(\.kind).sorted().joined(separator: ",")
        for reason in decision.reasons {
            switch reason {
            case .killed: found.cannotBeMoved = true
            case .verificationNotClean("mismatch", _), .shadowDifferences:
                found.difference = found.difference ?? reason.description
                found.isDifferenceNew = true
            case .verificationNotClean: found.isInconclusive = true
            default: break
            }
        }
        return found
    }

    /// Looks at a user; nothing is changed.
    func look(at user: String, since: Date) -> Found {
        var found = Found(user: user)
        do {
            let status = try stores.status(of: user)
            (found.stage, found.epoch) = (status.stage, status.epoch)
            found.token = status.token.map { Int($0.rawValue) }
            if case .behind(let count) = status.mirror { found.lag = count }
            found.cleanReads = status.evidence.cleanReadsOnTheWay
            let (open, last) = (status.evidence.openDifference, status.evidence.lastDifference)
            found.isDifferenceNew = [open, last].contains { $0.map { $0.time >= since } ?? false }
            found.difference = open?.message ?? (found.isDifferenceNew ? last?.message : nil)
            found.isVerified = open == nil && status.evidence.lastCleanVerification != nil && status.evidence.isIntact
            found.verdict = open == nil && !found.isDifferenceNew ? "sound" : FleetIndex.Entry.different
            found.reasons = status.stays?.kind
            if let problem = status.problems.first {
                found.verdict = "error"
                found.error = problem.error.description
                found.reasons = problem.error.code.rawValue
            }
            found.cannotBeMoved = status.isKilled
        } catch {
            found.verdict = "error"
            found.error = "\(error)"
            found.reasons = (error as? HabitStoreError)?.code.rawValue ?? "error"
        }
        return found
    }

    /// What tells without a look into a store that a user may have become different, and the token that was acknowledged last; nil where
    /// that cannot be read.
    func signs(of user: String) -> (fingerprint: Int, token: Int)? {
        guard let signs = try? stores.signs(of: user) else { return nil }
        return (signs.fingerprint, Int(clamping: signs.mark))
    }
}
