import DurableFiles
import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore

/// Reads where a user is. Writes nothing, takes no lock and finishes no move; of a move under way it sees one moment.
struct UserInspection {
    let directory: UserDirectory
    let schema: Schema
    let known: Engines
    let options: RolloutOptions
    let flags: FlagWatch
    let subject: FlagSubject
    /// Where the evidence that servers keep is read, for a user without a folder here; nil for the user's folder.
    var scratch: ScratchEvidence?

    private struct Found {
        var stores: ReplicaStatuses
        /// The two engines of the rollout.
        var engines: EnginePair
        var hasParted = false
        var unfinishedMigration: UnfinishedMigration?

        /// The store whose rollout state counts.
        var leading: ReplicaStatus? { stores.statuses.leading }
    }

    /// What the stores, the flags and the control file say, before the evidence is asked.
    private struct Seen {
        let found: Found
        let wanted: WantedStage
        let check: StatusCheck
        /// Whether a difference was found that the evidence could not record.
        let owesEvidence: Bool
        var status: UserStatus

        /// The error for a user who belongs to another machine, which has the evidence.
        var elsewhere: HabitStoreError? { found.leading.flatMap(check.objection(toMachineOf:)) }

        func facts(_ summary: EvidenceSummary) -> GateInput {
            GateInput(
                evidence: summary,
                lag: status.mirror.transactionsBehind ?? Int(status.token?.rawValue ?? 0),
                isBackfilled: status.mirror.transactionsBehind != nil,
                isKilled: status.isKilled || status.killTrigger != nil,
                isMirrorParted: status.mirror == .parted,
                owesEvidence: owesEvidence
            )
        }
    }

    private func see() -> Seen {
        var status = UserStatus(user: directory.user)
        let wanted = flags.wanted(for: subject, known)
        status.wanted = wanted.stage
        status.notes = flags.notes + wanted.notes
        status.killTrigger = flags.pulledKill(for: subject)?.text
        let control = try? ControlFile.copy(of: directory.path + "/control")
        let check = StatusCheck(directory, control)
        let found = collect(wanted.engines)
        take(found, check, into: &status)
        // A kill that could not be written to any store yet.
        if KillMarker.isKilled(directory, control) { status.isKilled = true }
        let owesEvidence = (control?.owedDifferences ?? 0) > 0
        return Seen(found: found, wanted: wanted, check: check, owesEvidence: owesEvidence, status: status)
    }

    func status() -> UserStatus {
        defer { withExtendedLifetime(scratch) {} }
        var seen = see()
        let (found, check) = (seen.found, seen.check)
        do {
            try Restoration.requireNone(directory)
        } catch let error as HabitStoreError {
            seen.status.problems.insert(.init(place: "stores", error: error), at: 0)
        } catch {}
        let isKilled = seen.status.isKilled || seen.status.killTrigger != nil
        let whereabouts = AuthorityResolution(found.stores, found.engines, check, isKilled: isKilled)
        if case .refused(let error) = whereabouts.answer { noteRefusal(error, into: &seen.status) }
        if let unfinished = found.unfinishedMigration {
            seen.status.notes.append("\(unfinished.description); \(unfinished.remedy)")
        } else if let ahead = whereabouts.ahead, let engine = seen.status.engine, let token = seen.status.token {
            seen.status.notes.append(
                "the \(engine.rawValue) store is at token \(token), and the \(ahead.engine.rawValue) store at \(ahead.token): "
                    + "the next operation carries over what is missing"
            )
        }
        compare(found, seen.wanted, into: &seen.status)
        if case .acceptedElsewhere(let replicaStatus, let left) = whereabouts.answer {
            noteRefusal(StatusCheck.objection(toLeaving: left, for: replicaStatus), into: &seen.status)
        }
        if seen.elsewhere == nil { judge(&seen) }
        return seen.status
    }

    /// Asks the gate whether the store that the user has left could be removed, and opens it for reading. Compares nothing.
    ///
    /// - Parameter hasBackup: whether a backup would be verified if the store cannot be read.
    /// - Throws: why a store or the evidence cannot be read, or why the store would prove nothing; ``HabitStoreError/Code/notFound`` if the store is gone
    ///   already.
    func retirement(hasBackup: Bool) throws -> RetirementOutcome {
        defer { withExtendedLifetime(scratch) {} }
        try Restoration.requireNone(directory)
        let seen = see()
        if let elsewhere = seen.elsewhere { throw elsewhere }
        let status = seen.status
        guard let stage = status.stage, let engine = status.engine else { throw status.problems[0].error }
        if let problem = status.problems.first(where: { $0.place == engine.rawValue }) { throw problem.error }
        let left = seen.found.engines.other(than: engine)
        let summary = try log.summary(status.trust)
        let decision = Gate(policy: options.gate).decideRetirement(
            from: stage,
            wanted: seen.wanted.stage,
            facts: seen.facts(summary),
            isVerified: false,
            now: Date()
        )
        let address = known.address(left, of: directory)
        var outcome = RetirementOutcome(decision, left, address)
        // If it is unknown whether a store is there, it is kept.
        outcome.isThere = (try? known.identity(of: address) != nil) ?? true
        guard decision.isOpen else { return outcome }
        let isRecorded = summary.evidence.at(stage).retired == left
        if try known.identity(of: address) != nil {
            let isBegun = isRecorded && seen.found.stores.status(left)?.role == .backfilling
            if !isBegun { try requireProof(of: left, besides: engine, seen.found, hasBackup: hasBackup) }
            return outcome
        }
        guard isRecorded else { throw Retirement.nothingIsLeft(left, address) }
        outcome.wasRemovedBefore = true
        return outcome
    }

    /// Makes sure that the store that the user has left can be read and compared with the serving one, as far as their status tells.
    private func requireProof(of left: EngineName, besides engine: EngineName, _ found: Found, hasBackup: Bool) throws {
        guard let status = found.stores.status(left) else {
            guard !hasBackup, let failure = found.stores.failures[left] else { return }
            throw failure
        }
        guard let serving = found.stores.status(engine) else { return }
        let error = Retirement.objection(to: status.information, besides: serving.information, directory)
        if let error { throw error }
    }

    /// The stores' anchor of the evidence, without reading the evidence.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` if another machine has the user's evidence.
    func anchor() throws -> EvidenceHead? { try trust().anchor }

    /// Decides which lines of the evidence count, without reading them.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` if another machine has the user's evidence.
    func trust() throws -> EvidenceTrust {
        let leading = collect(known.pair()).leading
        if let elsewhere = leading.flatMap(StatusCheck(directory, nil).objection(toMachineOf:)) { throw elsewhere }
        return EvidenceTrust(leading?.state, seal: log.seal)
    }

    var log: EvidenceLog { EvidenceLog(directory, keys: options.evidenceKeys, scratch: scratch) }

    private func collect(_ wanted: EnginePair) -> Found {
        let pair = StorePair(directory: directory, schema: schema, access: .readOnly, engines: known)
        let stores = pair.statuses(limitSeconds: options.stepLimitSeconds)
        var found = Found(stores: stores, engines: pair.engines(stores.statuses, preferring: wanted))
        found.unfinishedMigration = pair.unfinishedMigration(stores)
        found.hasParted = found.unfinishedMigration == nil && hasParted(found, pair)
        share(found, pair)
        for engine in known.names where stores.failures[engine] == nil { pair.close(engine) }
        return found
    }

    /// Takes over the evidence that other machines recorded about a user who belongs to none. If that fails now, the file is older than the stores'
    /// anchor, and the status says so.
    private func share(_ found: Found, _ pair: StorePair) {
        guard let state = found.leading?.state else { return }
        _ = try? SharedEvidence(log, pair, state, limitSeconds: options.stepLimitSeconds)?.synchronize()
    }

    /// Whether the mirror has diverged from the store that it should follow; false if that cannot be checked now.
    private func hasParted(_ found: Found, _ pair: StorePair) -> Bool {
        guard let serving = found.leading, serving.role == .authoritative, let stage = serving.state?.stage,
            stage.mirror != nil, !stage.awaitsMirror,
            let other = found.stores.status(found.engines.other(than: serving.engine))
        else { return false }
        let answer = try? Deadline.run(seconds: options.stepLimitSeconds, path: directory.path) { _ in
            pair.hasParted(other, from: serving)
        }
        return answer ?? false
    }

    private func take(_ found: Found, _ check: StatusCheck, into status: inout UserStatus) {
        let old = found.engines.old
        guard let leading = found.leading else {
            status.problems = problems(found, engine: old)
            if status.problems.isEmpty {
                let missing = HabitStoreError(.notFound, "the user has no store", at: .init(path: directory.path))
                status.problems = [.init(place: old.rawValue, error: missing)]
            }
            return
        }
        let state = leading.state ?? RolloutState(unknown: leading.engine, found.engines)
        let engine = state.engine(state.stage.authority)
        status.stage = state.stage
        status.engine = engine
        status.movingTo = state.movingTo
        status.isKilled = state.isKilled
        status.trust = EvidenceTrust(state, seal: log.seal)
        status.token = found.stores.status(engine)?.token
        status.epoch = found.stores.status(engine)?.epoch
        status.problems = problems(found, engine: engine)
        if found.stores.status(engine) == nil, found.stores.failures[engine] == nil,
            check.objection(toMachineOf: leading) == nil
        {
            let missing = HabitStoreError(
                .notFound,
                "the user's current store is missing",
                at: .init(path: known.address(engine, of: directory).path)
            )
            status.problems.insert(.init(place: engine.rawValue, error: missing), at: 0)
        }
        status.mirror = mirror(found, state, engine)
    }

    private func mirror(_ found: Found, _ state: RolloutState, _ engine: EngineName) -> UserStatus.Mirror {
        guard state.stage.mirror != nil else { return .none }
        let other = found.engines.other(than: engine)
        guard let here = found.stores.status(engine), found.stores.failures[other] == nil else { return .unknown }
        if found.hasParted { return .parted }
        guard let there = found.stores.status(other), there.role != .backfilling,
            there.information.lineage == here.information.lineage
        else { return .notFilled }
        return .behind(Int(max(0, here.token.rawValue - there.token.rawValue)))
    }

    private func problems(_ found: Found, engine: EngineName) -> [UserStatus.Problem] {
        [engine, found.engines.other(than: engine)].compactMap { engine in
            found.stores.failures[engine].map { .init(place: engine.rawValue, error: $0) }
        }
    }

    /// No store is known to be current. Skips errors that the problems already list.
    private func noteRefusal(_ error: HabitStoreError, into status: inout UserStatus) {
        let isTold = status.problems.contains { $0.error.description == error.description }
        let isMissing = status.problems.contains { $0.error.code == .notFound }
        guard !isTold, !isMissing else { return }
        status.problems.insert(.init(place: status.engine?.rawValue ?? "stores", error: error), at: 0)
    }

    /// Notes why the user is not where the flags want, for reasons outside the gate. Flag files that disagree about the engines do not move a user
    /// back and forth.
    private func compare(_ found: Found, _ wanted: WantedStage, into status: inout UserStatus) {
        guard let leading = found.leading, let state = leading.state else { return }
        let actual = ActualStage(state: state, epoch: leading.epoch, token: leading.token)
        status.stays = WayBack(actual, wanted).delay(flags.directSwap(for: subject))
        let swap = EngineSwap(actual, wanted)
        let isKept =
            swap.isRebucketed || state.isKilled || status.isKilled || state.hasSwapped(by: flags.identity(for: subject))
        guard swap.isProposed, isKept || state.engines.isOther(than: wanted.engines) else { return }
        status.notes.append(swap.refusal)
    }

    /// Reads the evidence, and asks the gate about it.
    private func judge(_ seen: inout Seen) {
        let summary: EvidenceSummary
        do {
            summary = try log.summary(seen.status.trust)
        } catch {
            let failure =
                error as? HabitStoreError
                ?? HabitStoreError(.inputOutput, "\(error)", at: .init(path: directory.path))
            seen.status.problems.append(.init(place: "evidence", error: failure))
            return
        }
        seen.status.evidence.records = summary.records
        seen.status.evidence.damage = summary.damage
        seen.status.evidence.isCutOff = !summary.containsAnchor
        take(summary.evidence, owesEvidence: seen.owesEvidence, into: &seen.status)
        guard let stage = seen.status.stage, let next = stage.next else { return }
        seen.status.next = Gate(policy: options.gate)
            .decide(from: stage, to: next, facts: seen.facts(summary), now: Date())
            .proposed(seen.wanted.stage, from: stage, to: next)
    }
}

extension UserInspection {
    private func take(_ evidence: StageEvidence, owesEvidence: Bool, into status: inout UserStatus) {
        let differences = [evidence.lastDifference, evidence.verifiedDifference].compactMap { $0 }
        status.evidence.lastDifference = differences.max { $0.time < $1.time }.map(UserStatus.Difference.init)
        status.evidence.openDifference = evidence.openDifference.map(UserStatus.Difference.init)
        if owesEvidence, status.evidence.openDifference == nil, let stage = status.stage {
            let message = "a difference was found that the evidence could not record yet"
            status.evidence.openDifference = .init(time: Date(), stage: stage, message: message)
        }
        status.evidence.lastVerification = evidence.verification.map { ($0.time.date, $0.isClean && $0.coverage == 1) }
        status.evidence.lastCleanVerification = evidence.lastClean?.date
        status.evidence.lastRehearsal = evidence.rehearsal.map { ($0.time.date, $0.isClean) }
        status.evidence.cleanReadsOnTheWay = evidence.cleanReadsOnTheWay
    }
}

extension UserStatus.Difference {
    init(_ difference: StageEvidence.Difference) {
        self.init(time: difference.time.date, stage: difference.stage, message: difference.message)
    }
}

extension UserStatus.Mirror {
    /// nil if unknown.
    fileprivate var transactionsBehind: Int? {
        guard case .behind(let count) = self else { return nil }
        return count
    }
}

extension UserStores {
    /// A user's status. Writes, switches and finishes nothing; what cannot be read is part of the result.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores.
    public func status(of user: String) throws -> UserStatus {
        let directory = try known(user, makesFolder: false)
        let status = try inspection(directory, schema).status()
        // The stores' schema versions are read only if there is a problem: most are current.
        guard options.otherVersions == .asWrittenByAnyApp, !status.problems.isEmpty else { return status }
        let written = schema(of: directory)
        return StoredSchema(written) == StoredSchema(schema) ? status : try inspection(directory, written).status()
    }

    /// Asks the gate whether the store that a user has left could be removed, as ``UserStore/retire(against:by:progress:)`` would. Verifies,
    /// moves and removes nothing, but opens the store for reading.
    ///
    /// - Parameter hasBackup: whether a backup would be given, so that the store need not be readable.
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores, and if the store is gone already; why the user or that store cannot be read;
    ///   ``HabitStoreError/Code/unsupported`` if the store proves nothing about the serving one.
    public func retirement(of user: String, hasBackup: Bool = false) throws -> RetirementOutcome {
        try inspection(of: user).retirement(hasBackup: hasBackup)
    }

    /// The evidence's anchor in a user's stores; nil if they have none.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores.
    public func evidenceAnchor(of user: String) throws -> EvidenceHead? { try inspection(of: user).anchor() }

    private func inspection(of user: String) throws -> UserInspection {
        let directory = try known(user, makesFolder: false)
        return try inspection(directory, schema(of: directory))
    }

    private func inspection(_ directory: UserDirectory, _ schema: Schema) throws -> UserInspection {
        // If the user is open in this process, the app's attributes are known.
        let subject = handles.withLock { $0[directory.user]?.files.context.subject }
        return UserInspection(
            directory: directory,
            schema: schema,
            known: engines,
            options: options,
            flags: flags,
            subject: subject ?? FlagSubject(directory.user),
            scratch: try ScratchEvidence(insteadOf: directory)
        )
    }

    /// A user's evidence. Without a folder of the user here, it is a copy of the server's lines, removed with the log.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores, ``HabitStoreError/Code/notAuthoritative`` for one who belongs to
    ///   another machine, which has the evidence.
    public func evidence(of user: String) throws -> EvidenceLog {
        let inspection = try inspection(of: user)
        // Reading the anchor also takes over lines that other machines have added.
        _ = try inspection.anchor()
        return inspection.log
    }

    /// All lines of a user's evidence, file after file, including archives and evidence that was started over.
    ///
    /// - Parameter body: receives the file's name, and the line without its newline; nil for a line longer than evidence can be.
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores, and errors of the system.
    package func enumerateEvidence(of user: String, _ body: (_ file: String, _ line: Data?) throws -> Void) throws {
        let log = try evidence(of: user)
        let folder = URL(fileURLWithPath: log.path).deletingLastPathComponent().path
        let names = try BackupFiles.names(folder).filter { $0.hasPrefix("evidence") && $0.hasSuffix(".jsonl") }
        for name in names.filter({ $0 != EvidenceLog.fileName }) + names.filter({ $0 == EvidenceLog.fileName }) {
            let file = try EvidenceFile(folder + "/" + name, .read, waitSeconds: options.lockWaitSeconds)
            try file.forEachPart(0..<(try file.size())) { part, _ in
                switch part {
                case .line(let bytes): try body(name, Data(bytes.dropLast()))
                case .overlong: try body(name, nil)
                case .rest(let bytes): if !EvidenceLine.isTorn(bytes) { try body(name, Data(bytes)) }
                }
            }
        }
    }

    /// The paths at which this program made backups of a user.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores.
    public func backups(of user: String) throws -> [String] {
        var seen: Set<String> = []
        return try BackupList(known(user, makesFolder: false)).entries().map(\.path).filter { seen.insert($0).inserted }
    }

    /// The lines of evidence in a user's favour that do not count: those whose writers did not report them to the stores, and with
    /// ``RolloutOptions/evidenceKeys`` those without a seal. Lines of a working process may be among them for a moment.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores, and errors of the system.
    public func uncountedEvidence(of user: String) throws -> EvidenceLog.Uncounted {
        try evidence(of: user).uncounted(try inspection(of: user).trust())
    }

    /// Checks all of a user's evidence, archives included. Writes nothing.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores, and system errors.
    public func verifyEvidence(of user: String) throws -> EvidenceVerification {
        try evidence(of: user).verify(anchor: try evidenceAnchor(of: user))
    }

    /// Checks that the user exists, since asking for a store would create it.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without a folder.
    public func requireUser(_ user: String) throws { _ = try known(user, makesFolder: false) }

    /// The size of a user's store files in bytes, logs included. Opens nothing, and does not count stores on servers.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an invalid user id.
    package func storeBytes(of user: String) throws -> Int {
        let directory = try directory(of: user)
        return engines.names.filter { !engines.isShared($0) }.reduce(0) { sum, engine in
            let path = engines.address(engine, of: directory).path
            return ["", "-wal"].reduce(sum) { sum, ending in
                var status = stat()
                return lstat(path + ending, &status) == 0 ? sum + Int(status.st_size) : sum
            }
        }
    }

    /// Whether the user has a store that other machines can reach too.
    private func hasSharedStore(_ directory: UserDirectory) throws -> Bool {
        try engines.names.contains { engine in
            try engines.isShared(engine) && engines.identity(of: engines.address(engine, of: directory)) != nil
        }
    }

    /// - Parameters:
    ///   - mayBeErased: whether to accept a user whose erasure was begun.
    ///   - makesFolder: whether to make the folder of a user who is on a server and new here; a look makes none.
    func known(_ user: String, mayBeErased: Bool = false, makesFolder: Bool = true) throws -> UserDirectory {
        let directory = try directory(of: user)
        if !mayBeErased { try ErasureTombstone(directory).requireNone() }
        var status = stat()
        if lstat(directory.path, &status) != 0 {
            // A user who belongs to no machine may be new here.
            guard try hasSharedStore(directory) else { throw missing(user) }
            guard makesFolder else { return directory }
            try directory.make()
        }
        try directory.requireOwn()
        return directory
    }
}

/// Shows, without opening a store, that a user may have been moved or written to: the contents of the control file, and the size of the evidence.
/// Reading it takes no lock, keeps nothing open, and costs writers nothing.
package struct UserSigns: Sendable, Hashable {
    /// The control file's cells, which moves and the evidence change, without the mark and the bell. Empty if there is no control file.
    package let place: [UInt64]
    /// The token of the mark, which every acknowledged write raises.
    package let mark: UInt64
    /// The size of the evidence, and its modification time in nanoseconds. Empty if there is none.
    package let evidence: [Int64]

    /// A hash that is the same in every process: 64 bits of FNV-1a over ``place`` and ``evidence``.
    package var fingerprint: Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for word in place + evidence.map(UInt64.init(bitPattern:)) {
            for shift in stride(from: 0, to: 64, by: 8) {
                hash = (hash ^ (word >> shift & 0xFF)) &* 0x100_0000_01B3
            }
        }
        return Int(truncatingIfNeeded: hash)
    }

    init(_ directory: UserDirectory) {
        var cells = Self.cells(directory.path + "/control") ?? []
        mark = cells.isEmpty ? 0 : ControlFile.numbered(cell: cells[ControlFile.Place.mark])
        for cell in [ControlFile.Place.mark, ControlFile.Place.bell] where cell < cells.count { cells[cell] = 0 }
        place = cells
        evidence = Self.figures(EvidenceLog(directory).path)
    }

    /// nil if there is no control file, or it does not have its full size yet.
    private static func cells(_ path: String) -> [UInt64]? {
        guard let file = try? OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return nil }
        var cells = [UInt64](repeating: 0, count: ControlFile.cellCount)
        let count = cells.withUnsafeMutableBytes { try? file.read(into: $0, at: 0) }
        return count == cells.count * MemoryLayout<UInt64>.size ? cells : nil
    }

    private static func figures(_ path: String) -> [Int64] {
        var status = stat()
        guard lstat(path, &status) == 0 else { return [] }
        #if canImport(Darwin)
        let written = status.st_mtimespec
        #else
        let written = status.st_mtim
        #endif
        return [Int64(status.st_size), Int64(written.tv_sec) * 1_000_000_000 + Int64(written.tv_nsec)]
    }
}

extension UserStores {
    /// The signs that tell a watcher when to read the user's status again.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an invalid user id.
    package func signs(of user: String) throws -> UserSigns { UserSigns(try directory(of: user)) }
}

/// Shows that the status of all users may have changed: the flag files, the kill switch's files, and the gate's policy.
package struct RootSigns: Sendable, Hashable {
    let flags: String
    /// The sentinel files and latches.
    let killFiles: [String]
    let gate: GatePolicy
}

extension UserStores {
    /// The signs from when these stores were opened, or the flags last read.
    package var signs: RootSigns {
        RootSigns(
            flags: flags.identity,
            killFiles: flags.killSwitch.presentFiles,
            gate: options.gate
        )
    }
}
