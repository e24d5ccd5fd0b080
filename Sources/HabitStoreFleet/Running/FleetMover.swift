import Foundation
import HabitStore
import HabitStoreRollout
import Synchronization

/// Moves and examines single users.
struct FleetMover: Sendable {
    /// The observed state of a user.
    struct Found: Sendable {
        let user: String
        var stage: Stage?
        var epoch: Int?
        var token: Int?
        var lag: Int?
        var cleanReads = 0
        /// The result, in a word.
        var verdict: String?
        /// Why the user waits, by the kinds of the gate's reasons.
        var reasons: String?
        /// The error, if the attempt failed.
        var error: String?
        /// A difference between the user's stores that was found since the last resume, or that is not refuted.
        var difference: String?
        /// Whether the difference was found since the last resume.
        var isDifferenceNew = false
        /// Whether a complete verification found no difference, and none was found since.
        var isVerified = false
        /// Whether a verification was inconclusive.
        var isInconclusive = false
        /// Whether the fleet skips the user, because the user was killed.
        var cannotBeMoved = false
    }

    let stores: UserStores
    let plan: FleetPlan
    let signals: FleetSignals

    /// Ends an attempt because the fleet was halted.
    struct Stopped: Error {}

    /// Moves users concurrently, each to its stage.
    func move(_ users: [(user: String, stage: Stage)], since: Date) -> [Found] {
        let results = Results<Found>()
        let group = DispatchGroup()
        for (number, (user, stage)) in users.enumerated() {
            Self.queue.async(group: group) { results.take(move(user, to: stage, since: since), number) }
        }
        group.wait()
        return results.all
    }

    /// Examines users concurrently.
    func observe(at users: [String], since: Date = .distantFuture) -> [Found] {
        each(users) { observe(at: $0, since: since) }
    }

    /// The result of comparing a user's two stores.
    struct Compared: Sendable {
        let user: String
        /// Whether there were two to compare.
        var isCompared = true
        /// The difference, or why the comparison failed.
        var problem: String?
    }

    /// Compares users' stores concurrently, by their stored digests.
    func compare(_ users: [String]) -> [Compared] { each(users) { compare($0) } }

    /// Examining a user mostly waits, for files to open and for the store's thread: with one user for each processor, half of them would be idle.
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

        /// The results, in the order of the users.
        var all: [Result] { found.withLock { found in found.sorted { $0.key < $1.key }.map(\.value) } }
    }

    private static let queue = DispatchQueue(label: "habitstore.fleet", attributes: .concurrent)

    private func move(_ user: String, to stage: Stage, since: Date) -> Found {
        var decision: GateDecision?
        do {
            let store = try stores.existingStore(for: user)
            // Closed with its last reference, since the app may have it too.
            defer { withExtendedLifetime(store) {} }
            decision = try store.advance(to: stage, permit: { if signals.isHalted { throw Stopped() } })
        } catch is Stopped {
            return observe(at: user, since: since)
        } catch {
            var found = Found(user: user)
            found.verdict = "error"
            found.error = "\(error)"
            found.reasons = (error as? HabitStoreError)?.code.rawValue ?? "error"
            return found
        }
        var found = observe(at: user, since: since)
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

    /// Examines a user; changes nothing.
    func observe(at user: String, since: Date) -> Found {
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

    /// The fingerprint of the user's files, which shows changes without opening a store, and the last acknowledged token; nil if they cannot be read.
    func signs(of user: String) -> (fingerprint: Int, token: Int)? {
        guard let signs = try? stores.signs(of: user) else { return nil }
        return (signs.fingerprint, Int(clamping: signs.mark))
    }
}

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
            cohort: member.cohort,
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

/// Limits how fast users are started.
struct FleetPaces {
    private let usersPerSecond: Double?
    private let bytesPerSecond: Double?
    /// When the next users may be started.
    private var next = ContinuousClock.now

    init(_ pace: FleetPlan) {
        usersPerSecond = pace.usersPerMinute.map { $0 / 60 }
        bytesPerSecond = pace.mebibytesPerSecond.map { $0 * 1_048_576 }
    }

    /// How long to wait before starting more users.
    var secondsToWait: Double { max(0, (next - ContinuousClock.now) / .seconds(1)) }

    /// Records that users are started now; the next ones wait as long as these may take.
    mutating func begin(_ bytes: [Int]) {
        let users = usersPerSecond.map { Double(bytes.count) / $0 } ?? 0
        let copying = bytesPerSecond.map { Double(bytes.reduce(0, +)) / $0 } ?? 0
        next = max(next, .now) + .seconds(max(users, copying))
    }
}

extension FleetPlan.Hours {
    /// Whether a time is within the hours.
    func contains(_ date: Date) -> Bool {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: timeZone) ?? .gmt
        let parts = calendar.dateComponents([.hour, .minute], from: date)
        let minute = (parts.hour ?? 0) * 60 + (parts.minute ?? 0)
        return from < to ? (from..<to).contains(minute) : minute >= from || minute < to
    }

    /// `08:00–20:00 Europe/Berlin`.
    var words: String {
        func time(_ minute: Int) -> String {
            let (hours, minutes) = (minute / 60, minute % 60)
            return (hours < 10 ? "0" : "") + "\(hours):" + (minutes < 10 ? "0" : "") + "\(minutes)"
        }
        return "\(time(from))–\(time(to)) \(timeZone)"
    }
}
