import Foundation
import HabitStore
import HabitStoreRollout

/// Where a fleet is, as its index has it.
public struct FleetStatus: Sendable {
    /// A wave.
    public struct Wave: Sendable, Hashable {
        /// What people call it.
        public let name: String
        /// How many users are in it.
        public let users: Int
        /// How many of them are at each stage; those of whom nothing is known are in none.
        public let stages: [Stage: Int]
        /// `done`, `soaking`, `running`, or `waiting` for the waves before.
        public let state: String
    }

    /// A user whose stores were found to differ, and whom no complete verification has found equal since.
    public struct Different: Sendable, Hashable {
        /// Whose.
        public let user: String
        /// The user's wave, from 0.
        public let wave: Int
        /// The stage that the user is known to be at.
        public internal(set) var stage: Stage?
        /// What differs, without the user's values; nil where that is not known any more.
        public internal(set) var message: String?
        /// When it was found; nil where that is not known any more.
        public internal(set) var since: Date?
    }

    /// What it is doing: `planned`, `running`, `soaking`, `waiting`, `paused`, `halted`, `done`, or `stopped` where no run is at work.
    public let state: String
    /// The same in one line: what it waits for, who or what has stopped it.
    public let doing: String
    /// What kind of halt it is, of which the ``Runbook`` says what helps; nil where nothing has halted it.
    public let halt: Runbook.Halt?
    /// Since when; nil where that is not known.
    public let since: Date?
    /// The waves.
    public let waves: [Wave]
    /// The users whose stores differ.
    public let different: [Different]
    /// Why users wait: kinds of the gate's reasons, and how many users.
    public let waiting: [(reasons: String, users: Int)]
    /// How long what is left may take, in seconds, by the pace of the last hour; nil where that says nothing.
    public let secondsLeft: ClosedRange<Double>?
    /// The first line of the ledger that is missing or not as it was written; nil where all are there.
    public let damagedLine: Int?
    /// How far the plan's hooks were told.
    public internal(set) var hooks: [HookStatus] = []
    /// Why that cannot be said.
    public internal(set) var hooksProblem: String?

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
        // A file without a kind was made by hand.
        halt = signals.halted.map { $0.kind ?? .haltedByPerson }
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
            (state, doing) = (word ?? "running", try index.word(FleetIndex.doing) ?? "a run begins")
        } else if events.contains(where: { if case .began = $0 { true } else { false } }) {
            (state, doing) = ("stopped", "no run is at work; `\(OperatorCommand.name) fleet run` goes on where it was")
        } else {
            (state, doing) = ("planned", "nobody was moved yet; `\(OperatorCommand.name) fleet run` begins")
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

    /// Between the pace since the first one of the last hour came there and half of it, with the soaks that are left; nothing is said by a handful of users.
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
