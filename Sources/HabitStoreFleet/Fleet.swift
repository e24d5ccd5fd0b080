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
/// What it keeps is in `ROOT/fleet`. The stores are the truth: none of it serves anybody, and the kill switch needs none of it.
public struct Fleet: Sendable {
    let place: StoreRoot
    let folder: FleetFolder
    let signals: FleetSignals
    let clock: FleetClock

    /// What was done.
    public let ledger: FleetLedger

    /// The fleet of a root; nothing is made yet.
    ///
    public init(root: String) {
        self.init(StoreRoot(root))
    }

    /// The fleet of the users' stores of a name, as `UserStores(root:store:)` has them.
    ///
    /// - Parameter store: the name; nil for the stores without one.
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for a name that no store can have.
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

    // MARK: The plan

    /// The plan that was kept.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` where none was, ``HabitStoreError/Code/corrupt`` for one that says nothing any more.
    public func plan() throws -> FleetPlan {
        let paths = [folder.plan + ".json", folder.plan + ".yaml"]
        let present = paths.filter(FileManager.default.fileExists(atPath:))
        guard present.count <= 1 else {
            throw HabitStoreError(
                .corrupt,
                "there are two plans here; give the one that counts with `\(OperatorCommand.name) fleet plan FILE`",
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
                "the plan that was kept is damaged (\(issues.first?.message ?? "")); give it anew with `\(OperatorCommand.name) fleet plan FILE`",
                at: .init(path: path)
            )
        }
        return plan
    }

    /// Who is in which wave, as it was drawn.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` where nothing was drawn, ``HabitStoreError/Code/corrupt`` for a file that is damaged.
    public func members() throws -> FleetMembers { try FleetMembers.load(folder.members) }

    // MARK: Running

    /// Moves users in waves, until all are where the plan wants them, somebody halts it, or it halts by itself.
    ///
    /// It waits, and so is not for a thread of Swift's tasks.
    ///
    /// - Parameters:
    ///   - stores: the users of the root.
    ///   - person: who runs it, for the ledger.
    ///   - pressure: the share of the last seconds in which something waited for the disk, of a hundred; nil for the kernel's word.
    ///   - tell: is told in one line what it is doing, or waits for.
    /// - Throws: ``HabitStoreError/Code/busy`` while another run is at work; what keeps the fleet's files from being read or
    ///   written. Nobody is moved then.
    public func run(
        _ stores: UserStores,
        by person: String,
        pressure: (() -> Double?)? = nil,
        tell: @escaping (String) -> Void
    ) throws -> FleetEnd {
        // Nothing is made where there is no fleet.
        if !FileManager.default.fileExists(atPath: folder.path) { _ = try plan() }
        let lease = try takeLease(folder)
        defer { withExtendedLifetime(lease) {} }
        try finishDrawing()
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
            // A process that dies in between leaves members whom the ledger does not tell of, which is said by the next one.
            let head = try ledger.append(.joined(users: count, digest: members.digest))
            try write(members.data, to: folder.members, "the fleet's members")
            try index.set(FleetIndex.head, head)
        }
        try index.add(members.members)
        let hooks = try deliveries(plan, members)
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

    /// The ledger is as it was written, has come to what the index remembers of it, and tells of these members.
    private func requireWhole(_ members: FleetMembers, _ index: FleetIndex) throws {
        let contents = try wholeLedger(by: index)
        let digests = contents.entries.compactMap { entry -> String? in
            switch entry.event {
            case .drawn(_, let digest, _, _), .joined(_, let digest): digest
            case .forgotten(let digest, _, _): digest
            default: nil
            }
        }
        // The line of who has joined, or was erased, is written before the file.
        guard digests.suffix(2).contains(members.digest) else {
            throw HabitStoreError(
                .corrupt,
                "the fleet's members are not those that the ledger tells of; put the file back",
                at: .init(path: folder.members)
            )
        }
    }

    func takeLease(_ folder: FleetFolder) throws -> LockedFile {
        do {
            // Whoever asks whether a run is at work has it for a moment.
            return try LockedFile(folder.lease, timeoutSeconds: Self.leaseWaitSeconds)
        } catch {
            throw HabitStoreError(
                error.isBusy ? .busy : .inputOutput,
                error.isBusy
                    ? "another `\(OperatorCommand.name) fleet run` is at work on this root; there can be one"
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

    /// Stops the fleet: whoever is being moved stays at the stage that was reached, and nobody is moved any more.
    ///
    /// - Returns: whether it was not stopped before.
    /// - Throws: ``HabitStoreError/Code/inputOutput`` where that cannot be written down.
    @discardableResult
    public func halt(by person: String, because reason: String) throws -> Bool {
        let reason = Passwords.redacted(reason)
        try requireFleet()
        guard try signals.halt(.init(by: person, because: reason, kind: .haltedByPerson)) else { return false }
        try ledger.append(.halted(by: person, because: reason, user: nil))
        return true
    }

    /// Begins with nobody from now on; who is on the way is brought there.
    ///
    /// - Returns: whether it was not paused before.
    @discardableResult
    public func pause(by person: String, because reason: String) throws -> Bool {
        let reason = Passwords.redacted(reason)
        try requireFleet()
        guard try signals.pause(.init(by: person, because: reason)) else { return false }
        try ledger.append(.paused(by: person, because: reason))
        return true
    }

    /// Ends a pause or a halt. It refutes no difference: the next run halts again for each user at the plan's stage whose stores no complete
    /// verification has found equal since.
    ///
    /// - Returns: whether anything had stopped it.
    @discardableResult
    public func resume(by person: String, because reason: String) throws -> Bool {
        let reason = Passwords.redacted(reason)
        guard signals.halted != nil || signals.paused != nil else { return false }
        // The line first: a run that begins in between finds the file. Who only pauses has looked at nothing.
        let isHalted = signals.isHalted
        try ledger.append(
            isHalted ? .resumed(by: person, because: reason) : .unpaused(by: person, because: reason)
        )
        return try signals.resume()
    }

    /// What came of taking a wave back.
    public struct TakenBack: Sendable {
        /// Which wave, from 0.
        public let wave: Int
        /// How many users were taken back.
        public internal(set) var users: Int
        /// Who could not be, and why.
        public internal(set) var failures: [(user: String, error: any Error)]
    }

    /// Takes the users of the wave back that is on the way, to the stage `off`.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` for a fleet that goes on, which would move them again.
    public func takeBack(_ stores: UserStores) throws -> TakenBack {
        guard signals.isHalted else {
            throw HabitStoreError(
                .unsupported,
                "only a fleet that is halted is taken back; halt it first",
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
                defer { store.close() }
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

    // MARK: Looking

    /// Where the fleet is, by the index.
    ///
    /// - Throws: what keeps it from being read.
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

    /// Notes how far the plan's hooks were told.
    func noteHooks(in status: inout FleetStatus, _ plan: FleetPlan, _ contents: FleetLedger.Contents) {
        do {
            let places = try plan.hooks.isEmpty ? nil : HookPlaces(folder)
            status.hooks = plan.hooks.map { HookStatus($0, places?[$0.name], contents) }
        } catch {
            status.hooksProblem = "\(error)"
        }
    }

    /// Holds the index against the stores.
    ///
    /// - Parameters:
    ///   - sample: how many users are looked at; nil for all.
    ///   - seed: decides who.
    ///   - comparesStores: whether both stores of each user who has two that are kept equal are compared, too, by their kept digests.
    /// - Returns: who is not as the index says, and how.
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

    /// Makes the index anew from the stores and the members.
    ///
    /// - Parameter progress: is told how many users were looked at.
    /// - Returns: how many users there are.
    /// - Throws: ``HabitStoreError/Code/busy`` while a run is at work.
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
                // Before the stores: what changes meanwhile is seen by the next look.
                let signs = part.map { mover.signs(of: $0.user)?.fingerprint }
                var entries = zip(part, mover.look(at: part.map(\.user))).map { FleetIndex.Entry($0, $1, plan) }
                for (number, sign) in signs.enumerated() { entries[number].sign = sign }
                try index.note(entries)
                done += part.count
                progress(done, members.members.count)
            }
        }
        return members.members.count
    }

    /// The place that the ledger has come to: what the index knows outlives it, so that lines which were cut off go on to show.
    private func lastKnownPlace() throws -> String? {
        do {
            if let head = try FleetIndex.open(folder).word(FleetIndex.head) { return head }
        } catch is HabitStoreError {
            // It is made anew because it cannot be read.
        }
        return try ledger.read().heads.last
    }

    private static let rebuildChunk = 1_000
}
