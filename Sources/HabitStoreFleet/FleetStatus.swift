import Foundation
import HabitStore
import HabitStoreRollout

/// A fleet's status, by its index.
public struct FleetStatus: Sendable {
    /// A wave.
    public struct Wave: Sendable, Hashable {
        /// The wave's name.
        public let name: String
        /// How many users are in it.
        public let users: Int
        /// How many of them are at each stage, without those whose stage is unknown.
        public let stages: [Stage: Int]
        /// `done`, `soaking`, `running`, or `waiting` for earlier waves.
        public let state: String
    }

    /// A user whose stores were found to differ, and whom no complete verification has found equal since.
    public struct Different: Sendable, Hashable {
        /// The user.
        public let user: String
        /// The user's wave, from 0.
        public let wave: Int
        /// The user's last known stage.
        public internal(set) var stage: Stage?
        /// The difference, without the user's values; nil if it is no longer known.
        public internal(set) var message: String?
        /// When the difference was found; nil if that is no longer known.
        public internal(set) var since: Date?
    }

    /// `planned`, `running`, `soaking`, `waiting`, `paused`, `halted`, `done`, or `stopped` if no run is at work.
    public let state: String
    /// The state in one line: what it waits for, or who or what stopped it.
    public let doing: String
    /// The kind of halt, for which the ``Runbook`` says what to do; nil if it is not halted.
    public let halt: Runbook.Halt?
    /// When the state began; nil if that is unknown.
    public let since: Date?
    /// The waves.
    public let waves: [Wave]
    /// The users whose stores differ.
    public let different: [Different]
    /// Why users wait: kinds of the gate's reasons, and how many users.
    public let waiting: [(reasons: String, users: Int)]
    /// An estimate of the remaining time, in seconds, from the pace of the last hour; nil if there is too little data.
    public let secondsLeft: ClosedRange<Double>?
    /// The first line of the ledger that is missing or changed; nil if the ledger is whole.
    public let damagedLine: Int?
    /// The delivery status of the plan's hooks.
    public internal(set) var hooks: [HookStatus] = []
    /// Why the status of the hooks is unknown.
    public internal(set) var hooksProblem: String?
    /// The user for whom the fleet is halted; nil if no user is the reason.
    package let haltedFor: String?

    init(
        plan: FleetPlan,
        members: FleetMembers,
        index: FleetIndex,
        ledger: FleetLedger.Contents,
        signals: FleetSignals,
        root: String,
        isRunning: Bool
    ) throws {
        different = try FleetDifferences(index, members, root: root).entries
        let counts = try index.counts()
        let events = ledger.entries.map(\.event)
        waves = members.waves.enumerated().map { number, name in
            let own = counts.filter { $0.wave == number }
            let stages = own.compactMap { count in count.stage.map { ($0, count.users) } }
            let isBegun = events.contains { if case .waveBegan(number, _, _) = $0 { true } else { false } }
            let isSoaking = events.contains { if case .soakBegan(number, _) = $0 { true } else { false } }
            let isDone = events.contains(.waveDone(wave: number))
            return Wave(
                name: name,
                users: own.reduce(0) { $0 + $1.users },
                stages: Dictionary(stages, uniquingKeysWith: +),
                state: isDone ? "done" : isSoaking ? "soaking" : isBegun ? "running" : "waiting"
            )
        }
        waiting = try index.reasons()
        damagedLine = ledger.damagedLine
        // A file without a kind was created by hand.
        halt = signals.halted.map { $0.kind ?? .haltedByPerson }
        haltedFor = signals.halted?.user
        let word = try index.word("state")
        let isDone =
            events.last { event in
                switch event {
                case .ended, .began: true
                default: false
                }
            } == .ended(isDone: true)
        if let halted = signals.halted {
            state = "halted"
            doing = "halted by \(halted.by): \(halted.because)" + (halted.user.map { " (user \($0))" } ?? "")
        } else if isDone, !isRunning {
            (state, doing) = ("done", "all \(members.waves.count) waves are done")
        } else if let paused = signals.paused {
            (state, doing) = ("paused", "paused by \(paused.by): \(paused.because)")
        } else if isRunning {
            (state, doing) = (word ?? "running", try index.word(FleetIndex.doing) ?? "a run is starting")
        } else if events.contains(where: { if case .began = $0 { true } else { false } }) {
            (state, doing) = ("stopped", "no run is at work; `\(OperatorCommand.name) fleet run` continues the fleet")
        } else {
            (state, doing) = ("planned", "no user was moved yet; `\(OperatorCommand.name) fleet run` starts the fleet")
        }
        since = try index.word("since").flatMap(Double.init).map(Date.init(timeIntervalSince1970:))
        let arrived = try index.arrivals(since: 0).users
        let now = Date().timeIntervalSince1970
        let recent = try index.arrivals(since: now - Self.paceSeconds)
        secondsLeft = Self.secondsLeft(
            members.members.count - arrived,
            (recent.users, now - (recent.first ?? now)),
            soaks: zip(plan.waves, waves).filter { $1.state != "done" && $1.users > 0 }.reduce(0) {
                $0 + $1.0.soakSeconds
            },
            isRunning: isRunning && (word == "running" || word == "soaking")
        )
    }

    private static let paceSeconds = 3_600.0

    /// From the pace since the first arrival of the last hour to half that pace, plus the remaining soaks; nil if fewer than ten users arrived.
    static func secondsLeft(
        _ users: Int,
        _ recent: (users: Int, seconds: Double),
        soaks: Double,
        isRunning: Bool
    ) -> ClosedRange<Double>? {
        guard isRunning, recent.users >= 10, recent.seconds > 0 else { return nil }
        let moving = Double(users) * recent.seconds / Double(recent.users)
        return moving + soaks...2 * moving + soaks
    }
}

/// The result of comparing the index with the stores.
public struct FleetAudit: Sendable {
    /// A user who differs from the index.
    public struct Finding: Sendable, Hashable {
        /// The user.
        public let user: String
        /// The difference, in one line.
        public let message: String
    }

    /// How many users were examined.
    public let users: Int
    /// How many users' stores were compared.
    public let compared: Int
    /// The users who differ from the index.
    public let findings: [Finding]

    init(
        _ index: FleetIndex,
        _ stores: UserStores,
        _ plan: FleetPlan,
        _ signals: FleetSignals,
        sample: Int?,
        seed: UInt64,
        comparesStores: Bool
    ) throws {
        var entries = try index.entries()
        if let sample, sample < entries.count {
            entries = Array(FleetMembers.shuffled(entries, by: "\(seed)", \.user).prefix(sample))
        }
        users = entries.count
        let mover = FleetMover(stores: stores, plan: plan, signals: signals)
        var findings = zip(entries, mover.observe(at: entries.map(\.user))).compactMap { entry, found -> Finding? in
            if found.stage != nil, let error = found.error { return Finding(user: entry.user, message: error) }
            // No run has examined users who were not started yet.
            guard let stage = entry.stage else { return nil }
            guard let there = found.stage else {
                return Finding(user: entry.user, message: found.error ?? "no store has the user's stage")
            }
            guard stage == there, entry.epoch == found.epoch else {
                let epochs = "epoch \(entry.epoch ?? 0)) and the stores \(there.rawValue) (epoch \(found.epoch ?? 0)"
                return Finding(user: entry.user, message: "the index says \(stage.rawValue) (\(epochs))")
            }
            return found.difference.map { Finding(user: entry.user, message: "the stores were found to differ: \($0)") }
        }
        let comparisons = comparesStores ? mover.compare(entries.map(\.user)) : []
        compared = comparisons.count(where: \.isCompared)
        findings += comparisons.compactMap { comparison in
            comparison.problem.map { Finding(user: comparison.user, message: $0) }
        }
        self.findings = findings
    }
}

/// The members whose stores differ: those with a mark and those whom the index lists. Each user's evidence decides, so this is never more optimistic
/// than the evidence: a difference stays until a complete verification finds none.
struct FleetDifferences {
    let entries: [FleetStatus.Different]

    /// - Throws: an error if the index or the marks cannot be read. Evidence that cannot be read refutes nothing.
    init(_ index: FleetIndex, _ members: FleetMembers, root: String) throws {
        let marks = DifferenceMarks(root: root)
        let known = try index.different()
        let marked = try marks.marked(among: members.members.map(\.user))
        guard !known.isEmpty || !marked.isEmpty else {
            entries = []
            return
        }
        let rows = Dictionary(known.map { (UserKey($0.user), $0) }) { first, _ in first }
        let markedKeys = Set(marked.map(UserKey.init))
        entries = try members.members.compactMap { member in
            let key = UserKey(member.user)
            let (row, isMarked) = (rows[key], markedKeys.contains(key))
            guard row != nil || isMarked else { return nil }
            let word = (try? marks.word(of: member.user)) ?? .unknown
            // A mark that outlived its difference is removed by the next look of a run or the next verification.
            if word == .clean, !isMarked { return nil }
            var entry = FleetStatus.Different(
                user: member.user,
                wave: member.wave,
                stage: row?.stage,
                message: row?.difference,
                since: nil
            )
            if case .differs(let difference) = word {
                (entry.message, entry.since) = (difference.message, difference.time)
                entry.stage = entry.stage ?? difference.stage
            }
            if entry.stage == nil { entry.stage = try index.entry(member.user)?.stage }
            return entry
        }
    }
}
