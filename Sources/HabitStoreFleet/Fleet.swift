import DurableFiles
import Foundation
import HabitStore
import HabitStoreRollout

/// The users of one root, moved in waves.
///
/// <!-- example: compiled only: a run ends when the last wave has been watched -->
/// ```swift
/// let fleet = Fleet(root: "/var/lib/habits")
/// try fleet.draw(plan, text: text, isYAML: false, users, by: "me")
/// let end = try fleet.run(stores, by: "me") { print($0) }
/// ```
///
/// Its files are in `ROOT/fleet`. The stores are the truth: no user is served from these files, and the kill switch does not need them.
public struct Fleet: Sendable {
    let place: StoreRoot
    let folder: FleetFolder
    let signals: FleetSignals
    let clock: FleetClock

    /// The record of everything that was done.
    public let ledger: FleetLedger

    /// The fleet of a root; creates nothing.
    public init(root: String) {
        self.init(StoreRoot(root))
    }

    /// The fleet of the users' stores with a name, as in `UserStores(root:store:)`.
    ///
    /// - Parameter store: the name; nil for unnamed stores.
    /// - Throws: ``HabitStoreError/Code/invalidValue`` if the name is invalid.
    public init(root: String, store: String?) throws {
        self.init(try StoreRoot(root, named: store))
    }

    package init(_ place: StoreRoot) {
        self.init(place, clock: .machine)
    }

    init(_ place: StoreRoot, clock: FleetClock) {
        (self.place, self.clock) = (place, clock)
        folder = FleetFolder(root: place.path)
        signals = FleetSignals(folder: folder)
        ledger = FleetLedger(folder, clock)
    }

    /// The folder of the users' stores.
    var root: String { place.path }

    // MARK: Plan

    /// The stored plan.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is none, ``HabitStoreError/Code/corrupt`` if it cannot be parsed.
    public func plan() throws -> FleetPlan {
        let paths = [folder.plan + ".json", folder.plan + ".yaml"]
        let present = paths.filter(FileManager.default.fileExists(atPath:))
        guard present.count <= 1 else {
            throw HabitStoreError(
                .corrupt,
                "there are two plans here; give the right one with `\(OperatorCommand.name) fleet plan FILE`",
                at: .init(path: folder.path)
            )
        }
        guard let path = present.first else {
            throw HabitStoreError(
                .notFound,
                "there is no plan here; make one with `\(OperatorCommand.name) fleet plan FILE`",
                at: .init(path: folder.path)
            )
        }
        let (plan, issues, _) = try FleetPlanReader.readText(path: path, isStored: true)
        guard let plan else {
            throw HabitStoreError(
                .corrupt,
                "the stored plan is damaged (\(issues.first?.message ?? "")); give it again with `\(OperatorCommand.name) fleet plan FILE`",
                at: .init(path: path)
            )
        }
        return plan
    }

    /// The drawn waves and their users.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if nothing was drawn, ``HabitStoreError/Code/corrupt`` if the file is damaged.
    public func members() throws -> FleetMembers { try FleetMembers.load(folder.members) }

    // MARK: Running

    /// Moves users in waves, until all have reached the plan's stages, a person halts it, or it halts itself.
    ///
    /// It blocks, so do not call it from a Swift task.
    ///
    /// - Parameters:
    ///   - stores: the users of the root.
    ///   - person: who runs it, for the ledger.
    ///   - pressure: the share of recent time, in percent, in which processes waited for the disk; nil to ask the kernel.
    ///   - tell: receives one line about what it does or waits for.
    /// - Throws: ``HabitStoreError/Code/busy`` during another run; an error if the fleet's files cannot be read or written. No user is moved then.
    public func run(
        _ stores: UserStores,
        by person: String,
        pressure: (() -> Double?)? = nil,
        tell: @escaping (String) -> Void
    ) throws -> FleetEnd {
        // Creates nothing without a fleet.
        if !FileManager.default.fileExists(atPath: folder.path) { _ = try plan() }
        let lease = try takeLease(folder)
        defer { withExtendedLifetime(lease) {} }
        try finishDrawing()
        let refusal = hooksRefusal()
        let plan = try plan()
        if let halted = signals.halted {
            return .halted(by: halted.by, because: halted.because, user: halted.user)
        }
        var members = try FleetMembers.load(folder.members)
        try requireWaves(plan, members)
        let index = try FleetIndex.open(folder)
        try requireWhole(members, index)
        let joined = try members.adding(
            stores.users().users.map { (user: $0, bytes: try stores.storeBytes(of: $0)) },
            plan
        )
        if joined.members.count > members.members.count {
            let count = joined.members.count - members.members.count
            members = joined
            // The line before the file: if the process dies in between, the next run adds these users again.
            let head = try ledger.append(.joined(users: count, digest: members.digest))
            try write(members.data, to: folder.members, "the fleet's members")
            try index.set(FleetIndex.head, head)
        }
        try index.add(members.members)
        let hooks = try deliveries(plan, members, refusal: refusal)
        hooks?.start()
        defer {
            hooks?.finish()
            for line in hooks?.takeLines() ?? [] { tell(line) }
        }
        let run = try FleetRun(
            root: root,
            plan: plan,
            members: members,
            index: index,
            ledger: ledger,
            signals: signals,
            stores: stores,
            by: person,
            hooks: hooks,
            clock: clock,
            pressure: pressure ?? { IOPressure.now() },
            tell: tell
        )
        return try run.run()
    }

    /// Checks that the ledger is undamaged, has reached the head in the index, and records these members.
    ///
    /// The line of a join or an erasure is written before the file. Each process that dies in between leaves one, and the next run repeats it.
    private func requireWhole(_ members: FleetMembers, _ index: FleetIndex) throws {
        var isRecorded = false
        var erasures: Set<String> = []
        for entry in try wholeLedger(by: index).entries {
            switch entry.event {
            case .drawn(_, let digest, _, _): (isRecorded, erasures) = (digest == members.digest, [])
            case .joined(_, members.digest): (isRecorded, erasures) = (true, [])
            case .forgotten(let digest?, _, _):
                if digest == members.digest { (isRecorded, erasures) = (true, []) } else { erasures.insert(digest) }
            default: break
            }
        }
        guard isRecorded, erasures.count <= 1 else {
            throw HabitStoreError(
                .corrupt,
                "the fleet's members are not those in the ledger; put the file back",
                at: .init(path: folder.members)
            )
        }
    }

    func takeLease(_ folder: FleetFolder) throws -> LockedFile {
        do {
            // A process that checks for a run holds the lock for a moment.
            return try LockedFile(folder.lease, timeoutSeconds: Self.leaseWaitSeconds)
        } catch {
            throw HabitStoreError(
                error.isBusy ? .busy : .inputOutput,
                error.isBusy
                    ? "another `\(OperatorCommand.name) fleet run` is at work on this root; there can be only one"
                    : "the fleet's lock cannot be taken: \(error)",
                at: .init(path: folder.lease)
            )
        }
    }

    private static let leaseWaitSeconds = 0.25

    /// Whether a run is at work.
    public var isRunning: Bool {
        guard FileManager.default.fileExists(atPath: folder.lease) else { return false }
        do {
            _ = try LockedFile(folder.lease, timeoutSeconds: 0)
            return false
        } catch {
            return error.isBusy
        }
    }

    // MARK: Stopping

    func requireFleet() throws {
        var status = stat()
        guard lstat(folder.path, &status) == 0 else {
            throw HabitStoreError(
                .notFound,
                "there is no fleet under this root, and nothing to stop; is it the right root?",
                at: .init(path: root)
            )
        }
    }

    /// Halts the fleet: users who are being moved stay at the stage that they have reached, and no user is moved any more.
    ///
    /// - Returns: false if it was halted already.
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if that cannot be recorded.
    @discardableResult
    public func halt(by person: String, because reason: String) throws -> Bool {
        let reason = Passwords.redacted(reason)
        try requireFleet()
        guard try signals.halt(.init(by: person, because: reason, kind: .haltedByPerson)) else { return false }
        try ledger.append(.halted(by: person, because: reason, user: nil))
        return true
    }

    /// Starts no new users and finishes those in progress.
    ///
    /// - Returns: false if it was paused already.
    @discardableResult
    public func pause(by person: String, because reason: String) throws -> Bool {
        let reason = Passwords.redacted(reason)
        try requireFleet()
        guard try signals.pause(.init(by: person, because: reason)) else { return false }
        try ledger.append(.paused(by: person, because: reason))
        return true
    }

    /// Ends a pause or a halt. This refutes no difference: the next run halts again for each user at the plan's stage whose stores no complete
    /// verification has found equal since.
    ///
    /// - Returns: whether it was paused or halted.
    @discardableResult
    public func resume(by person: String, because reason: String) throws -> Bool {
        let reason = Passwords.redacted(reason)
        guard signals.halted != nil || signals.paused != nil else { return false }
        // The line first: a run that begins in between still finds the file. Only ending a halt is a resumption; ending a pause says nothing about
        // differences.
        let isHalted = signals.isHalted
        try ledger.append(
            isHalted ? .resumed(by: person, because: reason) : .unpaused(by: person, because: reason)
        )
        return try signals.resume()
    }

    /// The result of taking a wave back.
    public struct TakenBack: Sendable {
        /// The wave, from 0.
        public let wave: Int
        /// How many users were taken back.
        public internal(set) var users: Int
        /// The users who could not be taken back, and why.
        public internal(set) var failures: [(user: String, error: any Error)]
    }

    /// Takes the users of the current wave back to the stage `off`.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` if the fleet is not halted: a run would move them again.
    public func takeBack(_ stores: UserStores) throws -> TakenBack {
        guard signals.isHalted else {
            throw HabitStoreError(
                .unsupported,
                "only a halted fleet can be taken back; halt it first",
                at: .init(path: folder.path)
            )
        }
        let members = try FleetMembers.load(folder.members)
        let wave = try ledger.read().entries.reversed().lazy.compactMap { entry -> Int? in
            guard case .waveBegan(let wave, _, _) = entry.event else { return nil }
            return wave
        }.first
        guard let wave else { return TakenBack(wave: 0, users: 0, failures: []) }
        var taken = TakenBack(wave: wave, users: 0, failures: [])
        let index = try FleetIndex.open(folder)
        for member in members.wave(wave) {
            do {
                let store = try stores.store(for: member.user)
                // Closed with its last reference, since the app may have it too.
                defer { withExtendedLifetime(store) {} }
                guard try store.stage() > .off else { continue }
                try store.demote(to: .off)
                taken.users += 1
                guard var entry = try index.entry(member.user) else { continue }
                (entry.stage, entry.arrived, entry.sign, entry.verdict) = (.off, nil, nil, nil)
                try index.note([entry])
            } catch {
                taken.failures.append((user: member.user, error: error))
            }
        }
        try ledger.append(.tookBack(wave: wave, users: taken.users, failed: taken.failures.count))
        return taken
    }

    // MARK: Status

    /// The fleet's status, by its index.
    ///
    /// - Throws: an error if the index cannot be read.
    public func status() throws -> FleetStatus { try status(by: plan(), FleetIndex.open(folder)) }

    func status(by plan: FleetPlan, _ index: FleetIndex) throws -> FleetStatus {
        let contents = try readLedger(by: index)
        var status = try FleetStatus(
            plan: plan,
            members: FleetMembers.load(folder.members),
            index: index,
            ledger: contents,
            signals: signals,
            root: root,
            isRunning: isRunning
        )
        noteHooks(in: &status, plan, contents)
        return status
    }

    /// Adds the delivery status of the plan's hooks.
    func noteHooks(in status: inout FleetStatus, _ plan: FleetPlan, _ contents: FleetLedger.Contents) {
        do {
            let places = try plan.hooks.isEmpty ? nil : HookPlaces(folder)
            status.hooks = plan.hooks.map { HookStatus($0, places?[$0.name], contents) }
        } catch {
            status.hooksProblem = "\(error)"
        }
    }

    /// Compares the index with the stores.
    ///
    /// - Parameters:
    ///   - sample: how many users to examine; nil for all.
    ///   - seed: selects the users.
    ///   - comparesStores: whether to compare both stores, by their stored digests, if a user has two that are kept equal.
    /// - Returns: the users who differ from the index, and how.
    public func audit(
        _ stores: UserStores,
        sample: Int?,
        seed: UInt64,
        comparesStores: Bool = false
    ) throws -> FleetAudit {
        try FleetAudit(
            FleetIndex.open(folder),
            stores,
            plan(),
            signals,
            sample: sample,
            seed: seed,
            comparesStores: comparesStores
        )
    }

    /// Rebuilds the index from the stores and the members.
    ///
    /// - Parameter progress: receives how many users are done, and of how many.
    /// - Returns: the number of users.
    /// - Throws: ``HabitStoreError/Code/busy`` during a run.
    public func rebuild(_ stores: UserStores, progress: (Int, Int) -> Void) throws -> Int {
        let lease = try takeLease(folder)
        defer { withExtendedLifetime(lease) {} }
        let (plan, members) = (try plan(), try FleetMembers.load(folder.members))
        let head = try lastKnownPlace()
        let mover = FleetMover(stores: stores, plan: plan, signals: signals)
        try FleetIndex.make(folder, members, head: head) { index in
            var done = 0
            while done < members.members.count {
                let part = members.members[done...].prefix(Self.rebuildChunk)
                // Signs before stores: the next look notices a change in between.
                let signs = part.map { mover.signs(of: $0.user)?.fingerprint }
                var entries = zip(part, mover.observe(at: part.map(\.user))).map { FleetIndex.Entry($0, $1, plan) }
                for (number, sign) in signs.enumerated() { entries[number].sign = sign }
                try index.note(entries)
                done += part.count
                progress(done, members.members.count)
            }
        }
        return members.members.count
    }

    /// The latest known head of the ledger: taken from the old index if possible, so that a truncated ledger still shows.
    private func lastKnownPlace() throws -> String? {
        do {
            if let head = try FleetIndex.open(folder).word(FleetIndex.head) { return head }
        } catch is HabitStoreError {
            // An unreadable index is a reason to rebuild it.
        }
        return try ledger.read().heads.last
    }

    private static let rebuildChunk = 1_000
}

extension Fleet {
    /// The result of pulling the kill switch.
    public struct Kill: Sendable {
        /// Whether the sentinel file did not exist before.
        public let isNew: Bool
        /// Why the ledger does not record the kill, in one line; nil if it does.
        public let unrecorded: String?
    }

    /// Pulls the kill switch for all users with the sentinel file, as `habitstore flags kill` does: processes with open stores react to it. It needs
    /// neither a fleet nor an index, and takes effect even if the ledger cannot be written.
    ///
    /// - Throws: an error if the sentinel file cannot be created; no user is killed then.
    public func kill(by person: String, because reason: String) throws -> Kill {
        let isNew = try KillSwitch(place).pull()
        do {
            try requireFleet()
            try ledger.append(.killed(by: person, because: Passwords.redacted(reason)))
            return Kill(isNew: isNew, unrecorded: nil)
        } catch {
            return Kill(isNew: isNew, unrecorded: (error as? HabitStoreError)?.description ?? "\(error)")
        }
    }

    /// Records that a kill of all users was applied, if there is a fleet.
    ///
    /// - Parameters:
    ///   - failed: how many users could not be taken back.
    ///   - seconds: the time since the kill switch was pulled.
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if the ledger cannot be written.
    public func noteKill(by person: String, users: Int, failed: Int, seconds: Double) throws {
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        try ledger.append(.killLanded(by: person, users: users, failed: failed, seconds: seconds))
    }

    /// Updates the index, if there is one, for users whom a kill has taken back: ``status()`` reads only the index.
    ///
    /// - Parameter stores: the users of the root.
    /// - Throws: an error if the fleet's files cannot be read or written.
    public func noteTakenBack(_ users: [String], in stores: UserStores) throws {
        guard FileManager.default.fileExists(atPath: folder.index) else { return }
        let (plan, index) = (try plan(), try FleetIndex.open(folder))
        let taken = Set(users.map { UserKey($0) })
        // No run has examined users who were not started yet.
        var entries = try index.entries().filter { $0.stage != nil && taken.contains(UserKey($0.user)) }
        let mover = FleetMover(stores: stores, plan: plan, signals: signals)
        for (place, found) in mover.observe(at: entries.map(\.user)).enumerated() { entries[place].take(found, plan) }
        try index.note(entries)
    }
}

extension Fleet {
    /// The ledger, checked against the head in the index: a truncated ledger is damaged, too.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if it cannot be read.
    public func readLedger() throws -> FleetLedger.Contents { try readLedger(by: try? FleetIndex.open(folder)) }

    /// - Parameter index: nil if no index can be read, and nothing is checked against it.
    func readLedger(by index: FleetIndex?) throws -> FleetLedger.Contents {
        var contents = try ledger.read()
        guard contents.damagedLine == nil else { return contents }
        if let head = try index?.word(FleetIndex.head), !contents.heads.contains(head) {
            let number = head.split(separator: " ").first.flatMap { Int($0) } ?? 1
            contents.damagedLine = min(number, contents.entries.count + 1)
        } else if contents.entries.isEmpty, FileManager.default.fileExists(atPath: folder.members) {
            // Drawing waves writes a line before anything else.
            contents.damagedLine = 1
        }
        return contents
    }

    /// The ledger from ``readLedger()``, if it is whole.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` if it is damaged or truncated.
    func wholeLedger(by index: FleetIndex?) throws -> FleetLedger.Contents {
        let contents = try readLedger(by: index)
        guard let line = contents.damagedLine else { return contents }
        throw HabitStoreError(
            .corrupt,
            "the fleet's ledger is damaged in line \(line), or lacks lines from there on, so no user is moved; put the file back",
            at: .init(path: ledger.path)
        )
    }

    /// Ends the hooks of this process, and the processes that they started, before a signal ends this process: without it, hooks have no time limit.
    /// No hook starts afterwards.
    package static func endHooks() { ProcessGroup.endAll(graceSeconds: HookProgram.graceSeconds) }
}
