import DurableFiles
import Foundation
import HabitStore
import HabitStoreRollout

/// Moves users in waves until all are where the plan wants them, somebody stops it, or it stops by itself.
///
/// What was done is in the ledger, who is where in the stores: a process that dies at any moment is followed by one that goes on where
/// it was. Each user is moved by the gate, as `rollout advance` does it, and asked for the fleet's permission last before each move.
final class FleetRun {
    private struct Halted: Error { let reason: FleetSignals.Reason }

    private let plan: FleetPlan
    private let members: FleetMembers
    private let index: FleetIndex
    private let ledger: FleetLedger
    private let signals: FleetSignals
    private let mover: FleetMover
    private let person: String
    private let pressure: () -> Double?
    private let tell: (String) -> Void

    /// Since when differences count: what was found before somebody let the fleet go on has been seen to.
    private let since: Date
    private let isLetGoOn: Bool
    private var entries: [UserKey: FleetIndex.Entry] = [:]
    private var passedOver: Set<UserKey> = []
    private var errorsInARow = 0
    private var inconclusive: [UserKey: Int] = [:]
    /// How many users each wave has, and who of them had come to the plan's stage and is not there any more.
    private let sizes: [Int]
    private var demoted: [Set<UserKey>]
    private var paces: FleetPaces
    private var lastWord = ""

    init(
        plan: FleetPlan,
        members: FleetMembers,
        index: FleetIndex,
        ledger: FleetLedger,
        signals: FleetSignals,
        stores: UserStores,
        by person: String,
        pressure: @escaping () -> Double?,
        tell: @escaping (String) -> Void
    ) throws {
        (self.plan, self.members, self.index, self.ledger, self.signals) = (plan, members, index, ledger, signals)
        (self.person, self.pressure, self.tell) = (person, pressure, tell)
        mover = FleetMover(stores: stores, plan: plan, signals: signals)
        paces = FleetPaces(plan)
        sizes = members.members.reduce(into: Array(repeating: 0, count: members.waves.count)) { $0[$1.wave] += 1 }
        demoted = Array(repeating: [], count: members.waves.count)
        let known = try ledger.read().entries
        since = known.last { $0.event.isResumption }?.time ?? known.first?.time ?? Date()
        // Who was taken back before has been seen to by whoever has let the fleet go on.
        isLetGoOn = known.last { $0.event.isOfMoving }?.event.isResumption ?? true
        for var entry in try index.entries() {
            if isLetGoOn, entry.verdict == FleetIndex.Entry.demoted { entry.verdict = nil }
            keep(entry)
        }
    }

    /// Goes through the waves.
    ///
    /// - Throws: what keeps the fleet's own files from being read or written; nobody is moved then.
    func run() throws -> FleetEnd {
        try tellLedger(.began(by: person))
        do {
            try look(through: members.waves.count - 1, isFirst: true)
            for wave in members.waves.indices where try !isDone(wave) || !stragglers(through: wave).isEmpty {
                try run(wave)
            }
            try say("done", "all \(members.waves.count) waves are done")
            try tellLedger(.ended(isDone: true))
            return .done(passedOver: passedOver.count)
        } catch let halted as Halted {
            // Whoever has stopped it has written it down, or this did.
            try say("halted", halted.reason.because)
            return .halted(by: halted.reason.by, because: halted.reason.because, user: halted.reason.user)
        }
    }

    /// Writes down what is done, and how far the ledger has come by that: lines that are cut off show.
    private func tellLedger(_ event: FleetEvent) throws { try index.set(FleetIndex.head, ledger.append(event)) }

    private func isDone(_ wave: Int) throws -> Bool {
        try ledger.read().entries.contains { $0.event == .waveDone(wave: wave) }
    }

    // MARK: A wave

    private func run(_ wave: Int) throws {
        let users = members.wave(wave)
        let known = try ledger.read().entries
        if !known.contains(where: { if case .waveBegan(wave, _, _) = $0.event { true } else { false } }) {
            try tellLedger(.waveBegan(wave: wave, name: members.waves[wave], users: users.count))
        }
        while true {
            try look(through: wave)
            let waiting = stragglers(through: wave)
            guard !waiting.isEmpty else { break }
            try say(
                "running",
                "wave \(wave + 1) of \(members.waves.count) is moved: \(waiting.count) users are on the way"
            )
            for lane in FleetMembers.Lane.allCases {
                try move(waiting.filter { $0.lane == lane }, atOnce: lane == .heavy ? 1 : plan.atOnce, in: wave)
            }
            guard !stragglers(through: wave).isEmpty else { break }
            try wait(
                seconds: plan.lookSeconds,
                "waiting",
                "wave \(wave + 1) of \(members.waves.count) waits: \(try reasonsInWords(wave))"
            )
        }
        try soak(wave)
        try tellLedger(.waveDone(wave: wave))
    }

    /// Those of a wave and of the waves before who are not where the plan wants them, and can be moved.
    private func stragglers(through wave: Int) -> [FleetMembers.Member] {
        members.members.filter { member in
            member.wave <= wave && !passedOver.contains(UserKey(member.user))
                && entries[UserKey(member.user)]?.arrived == nil
        }
    }

    private func soak(_ wave: Int) throws {
        let (soak, name) = (plan.waves[wave], "wave \(wave + 1) of \(members.waves.count)")
        let begun = try ledger.read().entries.last { entry in
            if case .soakBegan(wave, _) = entry.event { true } else { false }
        }?.time
        if begun == nil { try tellLedger(.soakBegan(wave: wave, passedOver: passedOver.count)) }
        // A clock that was put back begins the time anew, and one that was put forward while this runs changes nothing.
        let gone = begun.map { Date().timeIntervalSince($0) } ?? 0
        let end = ContinuousClock.now + .seconds(gone >= 0 ? max(0, soak.soakSeconds - gone) : soak.soakSeconds)
        while true {
            try look(through: wave)
            try move(stragglers(through: wave), atOnce: plan.atOnce, in: wave)
            let users = members.wave(wave).compactMap { entries[UserKey($0.user)] }
            let reads = users.reduce(0) { $0.addingSaturated($1.cleanReads) }
            let writes = users.reduce(0) { $0.addingSaturated($1.writes) }
            let left = (end - ContinuousClock.now) / .seconds(1)
            if left > 0 {
                let until = Date(timeIntervalSinceNow: left).formatted(.iso8601)
                try wait(seconds: min(left, plan.lookSeconds), "soaking", "\(name) is watched until \(until)")
            } else if reads < soak.cleanShadowReads {
                let missing = "\(soak.cleanShadowReads - reads) more clean shadow reads"
                try wait(seconds: plan.lookSeconds, "waiting", "\(name) waits for \(missing)")
            } else if writes < soak.writes {
                let missing = "\(soak.writes - writes) more writes of its users"
                try wait(seconds: plan.lookSeconds, "waiting", "\(name) waits for \(missing)")
            } else {
                return
            }
        }
    }

    private func reasonsInWords(_ wave: Int) throws -> String {
        let reasons = try index.reasons(limit: 3).map { "\($0.users) by \($0.reasons)" }
        return reasons.isEmpty ? "for users" : reasons.joined(separator: "; ")
    }

    // MARK: Users

    /// Looks at those who have come to the plan's stage, and whose files say that something has become different since.
    ///
    /// - Parameter isFirst: whether nobody has looked in this run.
    private func look(through wave: Int, isFirst: Bool = false) throws {
        var changed: [FleetIndex.Entry] = []
        var halt: (because: String, user: String)?
        for member in members.members where member.wave <= wave {
            guard var entry = entries[UserKey(member.user)], entry.arrived != nil else { continue }
            let signs = mover.signs(of: member.user)
            if let signs, signs.fingerprint == entry.sign {
                // What was written since shows without a look into a store.
                guard entry.token != signs.token else { continue }
                entry.token = signs.token
                keep(entry)
                changed.append(entry)
                continue
            }
            let found = mover.look(at: member.user, since: since)
            take(found, into: &entry)
            if isFirst, isLetGoOn, entry.verdict == FleetIndex.Entry.demoted { entry.verdict = nil }
            entry.sign = signs?.fingerprint
            keep(entry)
            changed.append(entry)
            if let because = judge(found), halt == nil { halt = (because, found.user) }
        }
        try index.note(changed)
        if let halt { try self.halt(halt.because, for: halt.user) }
        try requireFewDemoted(wave)
    }

    /// Moves users, several at once.
    private func move(_ waiting: [FleetMembers.Member], atOnce: Int, in wave: Int) throws {
        var left = waiting[...]
        while !left.isEmpty {
            let part = left.prefix(atOnce)
            left = left.dropFirst(atOnce)
            try awaitLeave(part)
            let moved = mover.move(part.map(\.user), since: since)
            var noted: [FleetIndex.Entry] = []
            var halt: (because: String, user: String)?
            for found in moved {
                guard var entry = entries[UserKey(found.user)] else { continue }
                take(found, into: &entry)
                keep(entry)
                noted.append(entry)
                if let because = judge(found), halt == nil { halt = (because, found.user) }
            }
            try index.note(noted)
            if let halt { try self.halt(halt.because, for: halt.user) }
            try requireFewDemoted(wave)
        }
    }

    /// Takes what was seen of a user.
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

    /// Why the fleet is to halt for a user.
    private func judge(_ found: FleetMover.Found) -> String? {
        if let difference = found.difference { return "a user's stores differ: \(difference)" }
        if let error = found.error {
            errorsInARow += 1
            guard errorsInARow >= plan.halts.errorsInARow else { return nil }
            return "\(errorsInARow) errors in a row, the last one: \(error)"
        }
        errorsInARow = 0
        guard found.isInconclusive else {
            inconclusive[UserKey(found.user)] = nil
            return nil
        }
        let looks = (inconclusive[UserKey(found.user)] ?? 0) + 1
        inconclusive[UserKey(found.user)] = looks
        guard looks >= plan.halts.inconclusiveLooks else { return nil }
        return "\(looks) verifications of a user in a row came to no conclusion"
    }

    private func requireFewDemoted(_ wave: Int) throws {
        let (count, size) = (demoted[wave].count, sizes[wave])
        guard let first = demoted[wave].first, Double(count) > Double(size) * plan.halts.demotedPercent / 100 else {
            return
        }
        try halt("\(count) of \(size) users of the wave were taken back", for: entries[first]?.user)
    }

    // MARK: Waiting and stopping

    /// Waits until users may be begun with.
    private func awaitLeave(_ part: ArraySlice<FleetMembers.Member>) throws {
        try requireGoing()
        while let reason = try reasonToWait() {
            try wait(seconds: min(plan.lookSeconds, 1), reason.word, reason.text)
        }
        let seconds = paces.secondsToWait
        if seconds > 0 {
            try wait(seconds: seconds, "waiting", "the plan's pace lets the next users begin in a moment")
        }
        paces.begin(part.map(\.bytes))
    }

    private func reasonToWait() throws -> (word: String, text: String)? {
        if let paused = signals.paused { return ("paused", "paused by \(paused.by): \(paused.because)") }
        if let hours = plan.hours, !hours.contains(Date()) {
            return ("waiting", "outside of the plan's hours (\(hours.words))")
        }
        guard let now = pressure() else { return nil }
        if let most = plan.halts.ioPressure, now >= most {
            try halt("something waited for the disk in \(now) % of the last seconds", for: nil)
        }
        guard let bar = plan.ioPressure, now >= bar else { return nil }
        return (
            "waiting", "for the disk: something waited for it in \(now) % of the last seconds, and \(bar) are allowed"
        )
    }

    private func requireGoing() throws {
        guard signals.isHalted else { return }
        throw Halted(reason: signals.halted ?? .init(by: "somebody", because: "nobody said why"))
    }

    private func halt(_ because: String, for user: String?) throws {
        let reason = FleetSignals.Reason(by: "the run", because: because, user: user)
        // The file first: whatever fails then, nobody is moved any more.
        if try signals.halt(reason) {
            try tellLedger(.halted(by: reason.by, because: because, user: user))
        }
        throw Halted(reason: reason)
    }

    private func wait(seconds: Double, _ word: String, _ text: String) throws {
        try say(word, text)
        let end = ContinuousClock.now + .seconds(seconds)
        repeat {
            try requireGoing()
            Thread.sleep(forTimeInterval: min(Self.lookSeconds, max(0, (end - ContinuousClock.now) / .seconds(1))))
        } while ContinuousClock.now < end
        try requireGoing()
    }

    /// How soon a halt is seen by who waits.
    private static let lookSeconds = 0.1

    private func say(_ word: String, _ text: String) throws {
        guard word + text != lastWord else { return }
        lastWord = word + text
        try index.set("state", word)
        try index.set(FleetIndex.doing, text)
        try index.set("since", "\(Date().timeIntervalSince1970)")
        tell(text)
    }
}
