import DurableFiles
import Foundation
import HabitStore
import HabitStoreRollout

/// Moves users in waves until all have reached the plan's stage, or a person or the run itself halts the fleet.
///
/// The ledger records what was done and the stores each user's stage, so a new process continues where a killed one was. The gate decides about each
/// user, as in `rollout advance`, and the last check before each move is for a halt.
final class FleetRun {
    private struct Halted: Error { let reason: FleetSignals.Reason }

    /// Why one user halts the fleet.
    private struct Finding {
        let kind: Runbook.Halt
        let because: String
    }

    private let plan: FleetPlan
    private let members: FleetMembers
    private let index: FleetIndex
    private let ledger: FleetLedger
    private let signals: FleetSignals
    private let mover: FleetMover
    private let marks: DifferenceMarks
    private let person: String
    private let pressure: () -> Double?
    private let tell: (String) -> Void

    /// The time of the last resume. A difference found before it does not halt the fleet while its user is moved, since the gate asks for a
    /// verification. At the plan's stage a difference halts the fleet whenever it was found.
    private var since: Date
    private let isLetGoOn: Bool
    private var entries: [UserKey: FleetIndex.Entry] = [:]
    private var passedOver: Set<UserKey> = []
    private var errorsInARow = 0
    private var inconclusive: [UserKey: Int] = [:]
    /// The size of each wave, and those of its users who have left the plan's stage after reaching it.
    private let sizes: [Int]
    private var demoted: [Set<UserKey>]
    /// The plan with the pace of the present wave.
    private var pace: FleetPlan
    private var paces: FleetPaces
    private let times: FleetTimes
    private let hooks: HookDeliveries?
    private let clock: FleetClock
    private var watch: ClockWatch
    private var lastWord = ""

    init(
        root: String,
        plan: FleetPlan,
        members: FleetMembers,
        index: FleetIndex,
        ledger: FleetLedger,
        signals: FleetSignals,
        stores: UserStores,
        by person: String,
        hooks: HookDeliveries?,
        clock: FleetClock,
        pressure: @escaping () -> Double?,
        tell: @escaping (String) -> Void
    ) throws {
        (self.plan, self.members, self.index, self.ledger, self.signals) = (plan, members, index, ledger, signals)
        (self.person, self.pressure, self.tell) = (person, pressure, tell)
        mover = FleetMover(stores: stores, plan: plan, signals: signals)
        marks = DifferenceMarks(root: root)
        pace = plan.paced(for: 0)
        paces = FleetPaces(pace)
        times = try FleetTimes(root: root, plan, index)
        (self.hooks, self.clock) = (hooks, clock)
        sizes = members.members.reduce(into: Array(repeating: 0, count: members.waves.count)) { $0[$1.wave] += 1 }
        demoted = Array(repeating: [], count: members.waves.count)
        let contents = try ledger.read()
        let known = contents.entries
        watch = ClockWatch(known.last)
        let begin = known.last { $0.event.isResumption } ?? known.first
        since = begin.map { contents.earliest(since: $0, clock.read()) } ?? Date()
        // Resuming the fleet accepts the users who were taken back before.
        isLetGoOn = known.last { $0.event.isOfMoving }?.event.isResumption ?? true
        if isLetGoOn { try times.restart() }
        for var entry in try index.entries() {
            if isLetGoOn, entry.verdict == FleetIndex.Entry.demoted { entry.verdict = nil }
            keep(entry)
        }
    }

    /// Goes through the waves.
    ///
    /// - Throws: an error if the fleet's files cannot be read or written; no user is moved then.
    func run() throws -> FleetEnd {
        try lookAtTheClock(isFirst: true)
        try tellLedger(.began(by: person))
        do {
            try observe(through: members.waves.count - 1, isFirst: true)
            for wave in members.waves.indices where try !isDone(wave) || !stragglers(through: wave).isEmpty {
                try run(wave)
            }
            try say("done", "all \(members.waves.count) waves are done")
            try tellLedger(.ended(isDone: true))
            return .done(passedOver: passedOver.count)
        } catch let halted as Halted {
            // Halting has already written the ledger line.
            try say("halted", halted.reason.because)
            return .halted(by: halted.reason.by, because: halted.reason.because, user: halted.reason.user)
        }
    }

    /// Appends an event and updates the head in the index, so that a truncated ledger shows.
    private func tellLedger(_ event: FleetEvent) throws {
        try index.set(FleetIndex.head, ledger.append(event))
        hooks?.wake()
    }

    private func isDone(_ wave: Int) throws -> Bool {
        try ledger.read().entries.contains { $0.event == .waveDone(wave: wave) }
    }

    // MARK: A wave

    private func run(_ wave: Int) throws {
        let users = members.wave(wave)
        if plan.paced(for: wave) != pace {
            pace = plan.paced(for: wave)
            paces = FleetPaces(pace)
        }
        let known = try ledger.read().entries
        if !known.contains(where: { if case .waveBegan(wave, _, _) = $0.event { true } else { false } }) {
            try awaitConfirmations(of: wave, users)
            try tellLedger(.waveBegan(wave: wave, name: members.waves[wave], users: users.count))
        }
        while true {
            try observe(through: wave)
            let waiting = stragglers(through: wave)
            guard !waiting.isEmpty else { break }
            try say(
                "running",
                "wave \(wave + 1) of \(members.waves.count) is moved: \(waiting.count.counted("user")) on the way"
            )
            for cohort in FleetMembers.Cohort.allCases {
                try move(waiting.filter { $0.cohort == cohort }, cohort, in: wave)
            }
            guard !stragglers(through: wave).isEmpty else { break }
            let missing = missingReads(of: wave)
            let what = missing > 0 ? "for \(missing) more clean shadow reads; " : ""
            try wait(
                seconds: plan.lookSeconds,
                "waiting",
                "wave \(wave + 1) of \(members.waves.count) waits: \(what)\(try reasonsInWords(wave))"
            )
        }
        // A wave of a small fleet may be empty, which needs no soak; a wave that is done was watched already.
        if try !users.isEmpty && !isDone(wave) { try soak(wave) }
        try tellLedger(.waveDone(wave: wave))
    }

    /// Waits until every hook that confirms waves has confirmed this one.
    private func awaitConfirmations(of wave: Int, _ users: [FleetMembers.Member]) throws {
        guard let hooks, !users.isEmpty else { return }
        let moved = entries.values.count { $0.arrived != nil }
        hooks.ask(wave, users: users.count, bytes: users.reduce(0) { $0.addingSaturated($1.bytes) }, moved: moved)
        var nextLook = ContinuousClock.now
        while true {
            for hook in hooks.takeConfirmations(of: wave) { try tellLedger(.waveConfirmed(wave: wave, hook: hook)) }
            guard let waiting = hooks.waiting(for: wave) else { return }
            if wave > 0, ContinuousClock.now >= nextLook {
                // Users of earlier waves are still watched.
                try observe(through: wave - 1)
                nextLook = ContinuousClock.now + .seconds(plan.lookSeconds)
            }
            try wait(seconds: Self.pollSeconds, "waiting", "waiting for the hook \(waiting)")
        }
    }

    /// Users of this wave and earlier ones who have not reached the plan's stage and can be moved.
    private func stragglers(through wave: Int) -> [FleetMembers.Member] {
        members.members.filter { member in
            member.wave <= wave && !passedOver.contains(UserKey(member.user))
                && entries[UserKey(member.user)]?.arrived == nil
        }
    }

    private func soak(_ wave: Int) throws {
        let (soak, name) = (plan.waves[wave], "wave \(wave + 1) of \(members.waves.count)")
        func line() throws -> FleetLedger.Entry? {
            try ledger.read().entries.last { if case .soakBegan(wave, _) = $0.event { true } else { false } }
        }
        if try line() == nil { try tellLedger(.soakBegan(wave: wave, passedOver: passedOver.count)) }
        guard let begun = try line() else { throw FleetLedger.unwritten(ledger.path) }
        var end = Date.distantPast
        while true {
            try observe(through: wave)
            for cohort in FleetMembers.Cohort.allCases {
                try move(stragglers(through: wave).filter { $0.cohort == cohort }, cohort, in: wave)
            }
            let time = try SoakClock(since: begun, noted: index.word(SoakClock.word), clock.read())
            if let note = time.note { try index.set(SoakClock.word, note) }
            let users = members.wave(wave).compactMap { entries[UserKey($0.user)] }
            let missingReads = missingReads(of: wave)
            let writes = users.reduce(0) { $0.addingSaturated($1.writes) }
            let left = soak.soakSeconds - time.seconds
            if left > 0 {
                let now = clock.read().time.addingTimeInterval(left)
                if abs(now.timeIntervalSince(end)) > 2 { end = now }
                let until = end.formatted(.iso8601)
                let because =
                    time.isInterrupted ? "; the machine was restarted, and time that no run saw does not count" : ""
                try wait(seconds: min(left, plan.lookSeconds), "soaking", "\(name) is watched until \(until)\(because)")
            } else if missingReads > 0 {
                // If the plan's stage has no shadow reads, the users were moved there by hand.
                let hint =
                    plan.stage.shadow == nil
                    ? ", and none are made at \(plan.stage.rawValue): demote users of the wave to live, or give a plan that asks for fewer"
                    : ""
                let missing = "\(missingReads.counted("more clean shadow read"))\(hint)"
                try wait(seconds: plan.lookSeconds, "waiting", "\(name) waits for \(missing)")
            } else if writes < soak.writes {
                let missing = "\((soak.writes - writes).counted("more write")) of its users"
                try wait(seconds: plan.lookSeconds, "waiting", "\(name) waits for \(missing)")
            } else {
                return
            }
        }
    }

    /// How many clean shadow reads a wave's users still need.
    private func missingReads(of wave: Int) -> Int {
        let asked = plan.waves[wave].cleanShadowReads
        guard asked > 0 else { return 0 }
        let users = members.wave(wave).compactMap { entries[UserKey($0.user)] }
        return max(0, asked - users.reduce(0) { $0.addingSaturated($1.cleanReads) })
    }

    /// The stage to move a user to now: a wave's users stay at the last stage with shadow reads until they have as many clean ones as the plan asks
    /// for.
    private func target(of member: FleetMembers.Member) -> Stage {
        guard let last = plan.lastShadowedStage, missingReads(of: member.wave) > 0,
            entries[UserKey(member.user)]?.stage ?? .off <= last
        else { return plan.stage }
        return last
    }

    private func reasonsInWords(_ wave: Int) throws -> String {
        let reasons = try index.reasons(limit: 3).map { "\($0.users) by \($0.reasons)" }
        return reasons.isEmpty ? "for users" : reasons.joined(separator: "; ")
    }

    // MARK: Users

    /// Examines users at the plan's stage whose files have changed since the last look.
    ///
    /// - Parameter isFirst: whether this is the run's first look.
    private func observe(through wave: Int, isFirst: Bool = false) throws {
        var changed: [FleetIndex.Entry] = []
        var halt: (found: Finding, user: String)?
        var different = 0
        let marked = try Set(marks.marked(among: members.members.map(\.user)).map(UserKey.init))
        for member in members.members where member.wave <= wave {
            guard var entry = entries[UserKey(member.user)], entry.arrived != nil else { continue }
            let signs = mover.signs(of: member.user)
            let isDoubted = entry.verdict == FleetIndex.Entry.different || marked.contains(UserKey(member.user))
            if let signs, signs.fingerprint == entry.sign, !isDoubted {
                // New writes show without opening a store.
                guard entry.token != signs.token else { continue }
                entry.token = signs.token
                keep(entry)
                changed.append(entry)
                continue
            }
            let found = mover.observe(at: member.user, since: since)
            take(found, into: &entry)
            if isFirst, isLetGoOn, entry.verdict == FleetIndex.Entry.demoted { entry.verdict = nil }
            entry.sign = signs?.fingerprint
            keep(entry)
            changed.append(entry)
            if found.isVerified, marked.contains(UserKey(member.user)) { try marks.forget(member.user) }
            guard let finding = judge(found, entry) else { continue }
            if finding.kind == .haltedByDifference { different += 1 }
            halt = halt ?? (finding, found.user)
        }
        try index.note(changed)
        if let halt {
            // The halt names the first user; the status lists all of them.
            let others = halt.found.kind == .haltedByDifference ? different - 1 : 0
            let more = others > 0 ? " (and those of \(others.counted("other user")))" : ""
            try self.halt(halt.found.kind, halt.found.because + more, for: halt.user)
        }
        try requireFewDemoted(wave)
    }

    /// Moves users, several at the same time.
    private func move(_ waiting: [FleetMembers.Member], _ cohort: FleetMembers.Cohort, in wave: Int) throws {
        let atOnce = pace.atOnce(cohort)
        var left = waiting[...]
        while !left.isEmpty {
            let part = left.prefix(atOnce)
            left = left.dropFirst(atOnce)
            try awaitLeave(part, cohort)
            let moved = mover.move(part.map { ($0.user, target(of: $0)) }, since: since)
            var noted: [FleetIndex.Entry] = []
            var halt: (found: Finding, user: String)?
            for found in moved {
                guard var entry = entries[UserKey(found.user)] else { continue }
                take(found, into: &entry)
                keep(entry)
                noted.append(entry)
                if let finding = judge(found, entry), halt == nil { halt = (finding, found.user) }
            }
            try index.note(noted)
            if let halt { try self.halt(halt.found.kind, halt.found.because, for: halt.user) }
            try requireFewDemoted(wave)
        }
    }

    /// Updates an entry with what was seen of the user.
    private func take(_ found: FleetMover.Found, into entry: inout FleetIndex.Entry) {
        entry.take(found, plan)
        if found.cannotBeMoved {
            passedOver.insert(UserKey(entry.user))
        } else {
            passedOver.remove(UserKey(entry.user))
        }
    }

    private func keep(_ entry: FleetIndex.Entry) {
        let key = UserKey(entry.user)
        entries[key] = entry
        guard demoted.indices.contains(entry.wave) else { return }
        if entry.verdict == FleetIndex.Entry.demoted {
            demoted[entry.wave].insert(key)
        } else {
            demoted[entry.wave].remove(key)
        }
    }

    /// Why a user halts the fleet. Text that may name the user follows a colon, because hooks without user ids get only the part before it.
    private func judge(_ found: FleetMover.Found, _ entry: FleetIndex.Entry) -> Finding? {
        if let difference = found.difference, found.isDifferenceNew || entry.arrived != nil {
            return Finding(kind: .haltedByDifference, because: "a user's stores differ: \(difference)")
        }
        if let error = found.error {
            errorsInARow += 1
            guard errorsInARow >= plan.halts.errorsInARow else { return nil }
            return Finding(
                kind: .haltedByErrors,
                because: "\(errorsInARow) errors in a row: \(error)"
            )
        }
        errorsInARow = 0
        guard found.isInconclusive else {
            inconclusive[UserKey(found.user)] = nil
            return nil
        }
        let looks = (inconclusive[UserKey(found.user)] ?? 0) + 1
        inconclusive[UserKey(found.user)] = looks
        guard looks >= plan.halts.inconclusiveLooks else { return nil }
        return Finding(
            kind: .haltedWithoutConclusion,
            because: "\(looks) verifications of a user in a row reached no conclusion"
        )
    }

    private func requireFewDemoted(_ wave: Int) throws {
        let (count, size) = (demoted[wave].count, sizes[wave])
        guard let first = demoted[wave].first, Double(count) > Double(size) * plan.halts.demotedPercent / 100 else {
            return
        }
        try halt(
            .haltedByDemotions,
            "\(count) of \(size.counted("user")) of the wave \(size == 1 ? "was" : "were") taken back",
            for: entries[first]?.user
        )
    }

    // MARK: Waiting and stopping

    /// Waits until users may be started.
    private func awaitLeave(_ part: ArraySlice<FleetMembers.Member>, _ cohort: FleetMembers.Cohort) throws {
        try requireGoing()
        try lookAtTimes()
        while let reason = try reasonToWait(cohort) {
            try wait(seconds: min(plan.lookSeconds, 1), reason.word, reason.text)
        }
        let seconds = paces.secondsToWait
        if seconds > 0 {
            try wait(seconds: seconds, "waiting", "the plan's pace starts the next users in a moment")
        }
        paces.begin(part.map(\.bytes))
    }

    private func reasonToWait(_ cohort: FleetMembers.Cohort) throws -> (word: String, text: String)? {
        if let paused = signals.paused { return ("paused", "paused by \(paused.by): \(paused.because)") }
        if let hours = pace.hours(cohort), !hours.contains(clock.read().time) {
            let whose = cohort == .heavy && pace.heavyHours != nil ? "hours for heavy users" : "hours"
            return ("waiting", "outside the plan's \(whose) (\(hours.words))")
        }
        if let bar = plan.writeP99Milliseconds, let seconds = times.recentSeconds, seconds * 1_000 >= bar {
            let now = FleetTimes.text(seconds)
            return (
                "waiting",
                "for users' writes: their 99th percentile was \(now) in the last minute, and \(bar) ms are allowed"
            )
        }
        guard let now = pressure() else { return nil }
        if let most = plan.halts.ioPressure, now >= most {
            try halt(.haltedByDisk, "something waited for the disk in \(now) % of the last seconds", for: nil)
        }
        guard let bar = plan.ioPressure, now >= bar else { return nil }
        return (
            "waiting", "for the disk: something waited for it in \(now) % of the last seconds, and \(bar) are allowed"
        )
    }

    private func lookAtTimes() throws {
        guard let because = try times.poll() else { return }
        try halt(.haltedBySlowWrites, because, for: nil)
    }

    private func requireGoing() throws {
        guard signals.isHalted else { return }
        throw Halted(reason: signals.halted ?? .init(by: "someone", because: "no reason given"))
    }

    private func halt(_ kind: Runbook.Halt, _ because: String, for user: String?) throws {
        let reason = FleetSignals.Reason(by: "the run", because: because, user: user, kind: kind)
        // The file first: it stops all moves, whatever fails next.
        if try signals.halt(reason) {
            try tellLedger(.halted(by: reason.by, because: because, user: user))
        }
        throw Halted(reason: reason)
    }

    private func wait(seconds: Double, _ word: String, _ text: String) throws {
        try say(word, text)
        try lookAtTheClock()
        for line in hooks?.takeLines() ?? [] { tell(line) }
        let end = ContinuousClock.now + .seconds(seconds)
        var nextLook = ContinuousClock.now
        repeat {
            try requireGoing()
            if ContinuousClock.now >= nextLook {
                try lookAtTimes()
                nextLook = .now + .seconds(Self.timesSeconds)
            }
            Thread.sleep(forTimeInterval: min(Self.pollSeconds, max(0, (end - ContinuousClock.now) / .seconds(1))))
        } while ContinuousClock.now < end
        try requireGoing()
    }

    /// Reports a moved wall clock, because times in the ledger, the evidence and the plan's hours depend on it.
    ///
    /// - Parameter isFirst: whether `since` already accounts for the move.
    private func lookAtTheClock(isFirst: Bool = false) throws {
        guard let moved = watch.moved(clock.read()) else { return }
        if moved < 0, !isFirst { since.addTimeInterval(moved) }
        let words = "the clock was put \(moved < 0 ? "back" : "forward") by \(Int(abs(moved))) seconds"
        tell(words + "; how long waves are watched is measured by the machine's own clock")
        try tellLedger(.clockMoved(seconds: Int(moved)))
    }

    /// How often waits check for a halt.
    private static let pollSeconds = 0.1
    /// How often waits check the durations of writes.
    private static let timesSeconds = 1.0

    private func say(_ word: String, _ text: String) throws {
        guard word + text != lastWord else { return }
        lastWord = word + text
        try index.set("state", word)
        try index.set(FleetIndex.doing, text)
        try index.set("since", "\(Date().timeIntervalSince1970)")
        tell(text)
    }
}

/// How a run ended.
public enum FleetEnd: Sendable, Hashable {
    /// All users have reached the plan's stage, except those who were skipped because they were killed.
    case done(passedOver: Int)
    /// The fleet was halted: by whom or what, why, and for which user.
    case halted(by: String, because: String, user: String?)
}
