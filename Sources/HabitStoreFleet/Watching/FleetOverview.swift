import Foundation
import HabitStoreRollout

/// A fleet's status, in the order in which people ask: how it is going, where users are, why they wait, what differs, how long writes take, and what
/// was done. It comes from the fleet's index and files; no store is opened.
public struct FleetOverview: Sendable {
    /// A wave.
    public struct Wave: Sendable, Hashable {
        /// The wave's name.
        public let name: String
        /// `done`, `soaking`, `running`, or `waiting` for earlier waves.
        public let state: String
        /// How many users are in it.
        public let users: Int
        /// How many of them have reached the plan's stage.
        public let arrived: Int
        /// When its soak ends; nil before the soak begins and after it has ended.
        public let soaksUntil: Date?
        /// Its users' clean shadow reads.
        public let cleanReads: Progress
        /// Its users' writes since they reached the plan's stage.
        public let writes: Progress
        /// How many of its users could not advance at the last attempt.
        public let refused: Int
    }

    /// A number and how many the plan asks for.
    public struct Progress: Sendable, Hashable {
        /// The current number.
        public let have: Int
        /// The required number; 0 if none is required.
        public let need: Int
    }

    /// Who or what has stopped the fleet.
    public struct Stop: Sendable, Hashable {
        /// Whether the fleet is halted; otherwise it is paused.
        public let isHalt: Bool
        /// The person, or `the run`.
        public let by: String
        /// The reason.
        public let because: String
        /// The user who caused it, as ``FleetWatch`` names users; nil if none did.
        public let user: String?
        /// The kind of halt, for which the runbook says what to do; nil for a pause.
        public let kind: Runbook.Halt?
    }

    /// A gate reason or error code, and how many users wait for it.
    public struct Reason: Sendable, Hashable {
        /// The kind of reason, which has an entry in the runbook.
        public let kind: String
        /// How many users wait for it, perhaps among other reasons.
        public let users: Int
    }

    /// A difference between a user's stores.
    public struct Difference: Sendable, Hashable {
        /// The user, as ``FleetWatch`` names users.
        public let user: String
        /// The user's current stage.
        public let stage: Stage?
        /// The difference, without the user's values.
        public let message: String
    }

    /// How far new stores lag.
    public struct Lag: Sendable, Hashable {
        /// When this was read.
        public let time: Date
        /// How many users' mirrors lack transactions.
        public let users: Int
        /// How many transactions they lack in total.
        public let transactions: Int
        /// The most transactions that one of them lacks.
        public let most: Int
    }

    /// A user with a long wait or large stores.
    public struct User: Sendable, Hashable {
        /// The user, as ``FleetWatch`` names users.
        public let user: String
        /// The wave's number, from 0.
        public let wave: Int
        /// The user's stage; nil if the user was not examined yet.
        public let stage: Stage?
        /// The size of the user's stores when the waves were drawn.
        public let bytes: Int
        /// Since when the user has been at the stage, as far as runs have seen.
        public let since: Date?
        /// Why the user waits, as kinds of the gate's reasons.
        public let reasons: [String]
    }

    /// A kill of all users that was applied.
    public struct Landing: Sendable, Hashable {
        /// When the kill was applied to all users.
        public let time: Date
        /// The seconds since the kill switch was pulled.
        public let seconds: Double
        /// How many users are on the old store.
        public let users: Int
        /// How many could not be taken back.
        public let failed: Int
    }

    /// A rehearsal of the rollback.
    public struct Rehearsal: Sendable, Hashable {
        /// When it ran.
        public let time: Date
        /// Whether it succeeded.
        public let isClean: Bool
    }

    /// The state in a word: see ``FleetStatus/state``.
    public let state: String
    /// The current activity or wait, without who stopped the fleet.
    public let doing: String
    /// Who or what stopped it; nil if it is not stopped.
    public let stop: Stop?
    /// The plan's stage.
    public let stage: Stage
    /// How many users there are.
    public let users: Int
    /// How many users are at each stage; nil for users who were not examined yet.
    public let stages: [(stage: Stage?, users: Int)]
    /// The waves.
    public let waves: [Wave]
    /// An estimate of the remaining time, in seconds, from the pace of the last hour; nil if there is too little data.
    public let secondsLeft: ClosedRange<Double>?
    /// Why users wait, the most frequent first.
    public let reasons: [Reason]
    /// How many users' stores differ.
    public let different: Int
    /// The current differences, at most ``FleetWatch/listedDifferences``.
    public let differences: [Difference]
    /// How long writes took in the last day, by period and stage.
    public let writes: [FleetWrites]
    /// How far new stores lag now.
    public let lag: Lag
    /// The lags since the watch began, in order.
    public let lags: [Lag]
    /// The users who have waited longest.
    public let slowest: [User]
    /// The users with the largest stores.
    public let largest: [User]
    /// The last rollback rehearsal of the user who was moved to the new store last; nil if that is unknown.
    public let lastRehearsal: Rehearsal?
    /// The last kill of all users by `rollout kill`; nil if the ledger records none.
    public let lastKill: Landing?
    /// The delivery status of the plan's hooks.
    public let hooks: [HookStatus]
    /// Why the status of the hooks is unknown; nil if it is known.
    public let hooksProblem: String?
    /// The ledger's last lines, the latest first, with users as ``FleetWatch`` names them.
    public let audit: [FleetLedger.Entry]
    /// How many lines the ledger has.
    public let auditLines: Int
    /// The first line of the ledger that was changed; nil if none was.
    public let damagedLine: Int?

    /// How many users the new store serves.
    public var served: Int {
        stages.reduce(0) { $0 + (($1.stage?.authority ?? .old) == .new ? $1.users : 0) }
    }

    /// The clean shadow reads of all users.
    public var cleanReads: Int { waves.reduce(0) { $0.addingSaturated($1.cleanReads.have) } }

    /// The current wave, with its number from 0: the first one that is not done, or the last one; nil if there is none.
    public var current: (number: Int, wave: Wave)? {
        guard let number = waves.firstIndex(where: { $0.state != "done" }) ?? waves.indices.last else { return nil }
        return (number, waves[number])
    }
}

extension FleetOverview {
    /// The fleet's status in one sentence: `Wave 3 of 6 soaks until 18:40; 41,207 of 100,000 users are on LMDB; 0 differences in 2.1 M shadow reads.`
    ///
    /// - Parameters:
    ///   - engine: the name of the new engine.
    ///   - clock: formats a time.
    public func sentence(engine: String, clock: (Date) -> String) -> String {
        let served =
            "\(Self.grouped(self.served)) of \(Self.counted(users, "user")) \(users == 1 ? "is" : "are") on \(engine)"
        let found = "\(Self.counted(different, "difference")) in \(Self.short(cleanReads)) shadow reads"
        return "\(what(clock)); \(served); \(found)."
    }

    private func what(_ clock: (Date) -> String) -> String {
        if let stop {
            let user = stop.user.map { " (user \($0))" } ?? ""
            return "\(stop.isHalt ? "Halted" : "Paused") by \(stop.by): \(stop.because)\(user)"
        }
        guard let (number, wave) = current else { return "No waves were drawn" }
        let name = "Wave \(number + 1) of \(waves.count)"
        switch state {
        case "done": return "All \(waves.count) waves are done"
        case "planned":
            return
                "\(Self.counted(waves.count, "wave")) \(waves.count == 1 ? "is" : "are") drawn, and no user was moved yet"
        case "stopped": return "\(name) is stopped: no run is at work"
        case "soaking": return "\(name) soaks" + (wave.soaksUntil.map { " until \(clock($0))" } ?? "")
        case "running":
            return "\(name) is being moved, \(Self.grouped(wave.arrived)) of \(Self.grouped(wave.users)) are there"
        default: return doing.prefix(1).uppercased() + doing.dropFirst()
        }
    }

    /// A number with thousands separators.
    public static func grouped(_ number: Int) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return text
    }

    /// A number and a noun.
    public static func counted(_ number: Int, _ noun: String) -> String {
        "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// A number with thousands separators, or in millions: `2.1 M`.
    public static func short(_ number: Int) -> String {
        let units = [(1e12, "T"), (1e9, "G"), (1e6, "M")]
        guard let (size, unit) = units.first(where: { Double(number) >= $0.0 }) else { return grouped(number) }
        let tenths = Int((Double(number) / size * 10).rounded(.down))
        return "\(tenths / 10)" + (tenths % 10 == 0 ? "" : ".\(tenths % 10)") + " \(unit)"
    }
}

extension FleetOverview {
    /// Collects what is known.
    init(
        _ plan: FleetPlan,
        _ status: FleetStatus,
        _ sums: FleetIndex.Sums,
        _ lag: Lag,
        _ lags: [Lag],
        _ ledger: FleetLedger.Contents,
        _ index: FleetIndex,
        _ signals: FleetSignals,
        _ names: FleetNames,
        lastRehearsal: Rehearsal?
    ) throws {
        self.init(
            state: status.state,
            doing: names.text(try Self.doing(status, index)),
            stop: Self.stop(signals, status.halt, names),
            stage: plan.stage,
            users: status.waves.reduce(0) { $0 + $1.users },
            stages: Self.stages(status),
            waves: try Self.waves(plan, status, sums, ledger.entries, soaked: index.word(SoakClock.word)),
            secondsLeft: status.secondsLeft,
            reasons: try Self.reasons(index),
            different: status.different.count,
            differences: status.different.prefix(FleetWatch.listedDifferences).map { different in
                Difference(
                    user: names.name(of: different.user),
                    stage: different.stage,
                    message: names.text(different.message ?? "", about: different.user)
                )
            },
            writes: try index.writes(since: Date(timeIntervalSinceNow: -FleetWatch.writesSeconds)),
            lag: lag,
            lags: lags,
            slowest: try index.slowest(limit: FleetWatch.listedUsers, names),
            largest: try index.largest(limit: FleetWatch.listedUsers, names),
            lastRehearsal: lastRehearsal,
            lastKill: Self.lastKill(ledger.entries),
            hooks: status.hooks,
            hooksProblem: status.hooksProblem,
            audit: ledger.entries.suffix(FleetWatch.listedLines).reversed().map { entry in
                FleetLedger.Entry(event: names.event(entry.event), sequence: entry.sequence, time: entry.time)
            },
            auditLines: ledger.entries.count,
            damagedLine: ledger.damagedLine
        )
    }

    /// The current activity; ``stop`` says who stopped it.
    private static func doing(_ status: FleetStatus, _ index: FleetIndex) throws -> String {
        switch status.state {
        case "halted", "paused": try index.word("doing") ?? ""
        default: status.doing
        }
    }

    private static func stop(_ signals: FleetSignals, _ kind: Runbook.Halt?, _ names: FleetNames) -> Stop? {
        let halted = signals.halted
        guard let reason = halted ?? signals.paused else { return nil }
        return Stop(
            isHalt: halted != nil,
            by: reason.by,
            because: names.text(reason.because, about: reason.user),
            user: reason.user.map(names.name(of:)),
            kind: halted == nil ? nil : kind
        )
    }

    private static func stages(_ status: FleetStatus) -> [(stage: Stage?, users: Int)] {
        let known = Stage.allCases.map { stage in
            (stage: Stage?.some(stage), users: status.waves.reduce(0) { $0 + ($1.stages[stage] ?? 0) })
        }
        let all = status.waves.reduce(0) { $0 + $1.users }
        return [(stage: nil, users: all - known.reduce(0) { $0 + $1.users })] + known
    }

    private static func waves(
        _ plan: FleetPlan,
        _ status: FleetStatus,
        _ sums: FleetIndex.Sums,
        _ entries: [FleetLedger.Entry],
        soaked: String?
    ) -> [Wave] {
        let clock = FleetClock.machine.read()
        return status.waves.enumerated().map { number, wave in
            let asked = plan.waves.indices.contains(number) ? plan.waves[number] : nil
            let own = sums.waves[number] ?? FleetIndex.WaveSums()
            let begun = entries.last { if case .soakBegan(number, _) = $0.event { true } else { false } }
            // By the same clock as the run, so that setting the wall clock changes nothing.
            let left = begun.map { (asked?.soakSeconds ?? 0) - SoakClock(since: $0, noted: soaked, clock).seconds }
            return Wave(
                name: wave.name,
                state: wave.state,
                users: wave.users,
                arrived: own.arrived,
                soaksUntil: wave.state == "soaking" ? left.map { clock.time.addingTimeInterval($0) } : nil,
                cleanReads: Progress(have: own.cleanReads, need: asked?.cleanShadowReads ?? 0),
                writes: Progress(have: own.writes, need: asked?.writes ?? 0),
                refused: own.refused
            )
        }
    }

    private static func reasons(_ index: FleetIndex) throws -> [Reason] {
        try index.usersByReason().map { Reason(kind: $0.key, users: $0.value) }
            .sorted { ($1.users, $0.kind) < ($0.users, $1.kind) }
    }

    private static func lastKill(_ entries: [FleetLedger.Entry]) -> Landing? {
        for entry in entries.reversed() {
            guard case .killLanded(_, let users, let failed, let seconds) = entry.event else { continue }
            return Landing(time: entry.time, seconds: seconds, users: users, failed: failed)
        }
        return nil
    }
}

extension FleetIndex {
    /// The totals of a wave's users.
    struct WaveSums {
        var arrived = 0
        var refused = 0
        var cleanReads = 0
        var writes = 0
    }

    /// The totals of all users.
    struct Sums {
        /// By the wave's number.
        var waves: [Int: WaveSums] = [:]
        var lagging = 0
        var lag = 0
        var mostLag = 0
    }

    /// Totals what is known of all users, by wave.
    func sums() throws -> Sums {
        var sums = Sums()
        try database.query(
            """
            SELECT wave, count(arrived), count(reasons), total(cleanReads),
              total(CASE WHEN token > arrivedToken THEN token - arrivedToken END),
              count(CASE WHEN lag > 0 THEN 1 END), total(lag), max(lag)
            FROM member GROUP BY wave
            """
        ) { row in
            sums.waves[row.int(0)] = WaveSums(
                arrived: row.int(1),
                refused: row.int(2),
                cleanReads: Self.whole(row.optionalDouble(3)),
                writes: Self.whole(row.optionalDouble(4))
            )
            sums.lagging += row.int(5)
            sums.lag = Self.whole(Double(sums.lag) + (row.optionalDouble(6) ?? 0))
            sums.mostLag = max(sums.mostLag, row.optionalInt(7) ?? 0)
        }
        return sums
    }

    private static func whole(_ number: Double?) -> Int { Int(exactly: (number ?? 0).rounded()) ?? .max }

    /// The users whose stores differ by the index, the last moved first.
    func different() throws -> [Entry] {
        var found: [Entry] = []
        try database.query("SELECT \(Self.columns) FROM member WHERE \(Self.differs) ORDER BY moved DESC, user") {
            found.append(try Self.entry($0))
        }
        return found
    }

    /// The users who have waited longest at their stage.
    func slowest(limit: Int, _ names: FleetNames) throws -> [FleetOverview.User] {
        try users("WHERE reasons IS NOT NULL ORDER BY moved IS NULL, moved, user", limit, names)
    }

    /// The users with the largest stores.
    func largest(limit: Int, _ names: FleetNames) throws -> [FleetOverview.User] {
        try users("ORDER BY bytes DESC, user", limit, names)
    }

    private func users(_ order: String, _ limit: Int, _ names: FleetNames) throws -> [FleetOverview.User] {
        var found: [FleetOverview.User] = []
        try database.query(
            "SELECT user, wave, stage, bytes, moved, reasons FROM member \(order) LIMIT ?1",
            [.int(limit)]
        ) {
            row in
            found.append(
                .init(
                    user: names.name(of: row.text(0) ?? ""),
                    wave: row.int(1),
                    stage: row.optionalInt(2).flatMap(Stage.init(position:)),
                    bytes: row.int(3),
                    since: row.optionalDouble(4).map(Date.init(timeIntervalSince1970:)),
                    reasons: row.text(5)?.split(separator: ",").map(String.init) ?? []
                )
            )
        }
        return found
    }

    /// The user who was last moved to a stage that the new engine serves; nil if there is none.
    func lastServed() throws -> String? {
        var user: String?
        try database.query(
            "SELECT user FROM member WHERE stage >= ?1 AND moved IS NOT NULL ORDER BY moved DESC, user LIMIT 1",
            [.int(Stage.live.position)]
        ) { user = $0.text(0) }
        return user
    }

    /// A number that differs after another process has changed the index.
    func dataVersion() throws -> Int {
        var version = 0
        try database.query("PRAGMA data_version") { version = $0.int(0) }
        return version
    }
}
