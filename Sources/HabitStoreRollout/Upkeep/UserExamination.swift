import Foundation
@_spi(Engines) import HabitStore

/// Looks for problems in a user's folder. Writes nothing.
struct UserExamination {
    private let directory: UserDirectory
    private let options: RolloutOptions
    private let pair: StorePair
    private let control: ControlFile?
    private let controlFailure: HabitStoreError?
    private let check: StatusCheck
    /// Where the evidence that servers keep is read, for a user without a folder here.
    private let scratch: ScratchEvidence?
    private var noted: [UserFinding] = []

    init(_ directory: UserDirectory, schema: Schema, _ engines: Engines, _ options: RolloutOptions) throws {
        self.directory = directory
        self.options = options
        pair = StorePair(directory: directory, schema: schema, access: .readOnly, engines: engines)
        do {
            control = try ControlFile.copy(of: directory.path + "/control")
            controlFailure = nil
        } catch let error as HabitStoreError {
            control = nil
            controlFailure = error
        }
        check = StatusCheck(directory, control)
        scratch = try ScratchEvidence(insteadOf: directory)
    }

    mutating func findings() throws -> [UserFinding] {
        defer { pair.close() }
        // Other findings would only show the unfinished state.
        guard !isInterrupted() else { return noted }
        let stores = pair.statuses(limitSeconds: options.stepLimitSeconds)
        if let unfinished = pair.unfinishedMigration(stores) {
            let isFinished = unfinished.isFinished(by: options.migrationPlan)
            found(.unfinishedMigration, unfinished.description, unfinished.remedy, canBeMended: isFinished)
            return noted
        }
        failures(stores)
        label()
        links()
        obstacles()
        if let elsewhere = stores.statuses.leading.flatMap(check.objection(toMachineOf:)) {
            found(.elsewhere, elsewhere.description, "nothing is wrong here")
        } else {
            roles(stores)
            namesakes(stores)
            if let control { held(stores, against: control) }
            damage(stores)
            copies(stores)
            evidence(stores)
        }
        if Restoration.isEmpty(directory) {
            let message = "an empty folder \(Restoration.folderName) is there, in which no restore was decided"
            mends(.leftovers, message, "it is removed, as by the next opening of the user")
        }
        // Without a folder here there are no copies in it.
        for kind in TemporaryCopies.kinds
        where try scratch == nil && !TemporaryCopies.folders(kind, in: directory).isEmpty {
            mends(
                .leftovers,
                "copies of the stores are in \(kind.prefix)…, which a killed process left, or one is making now",
                "they are removed unless a process is making them"
            )
        }
        return noted
    }

    /// Adds what an operator has to do something about.
    private mutating func found(
        _ kind: UserFinding.Kind,
        _ message: String,
        _ remedy: String,
        canBeMended: Bool = false
    ) {
        noted.append(UserFinding(kind: kind, message: message, remedy: remedy, canBeMended: canBeMended))
    }

    /// Adds what ``UserStores/mend(_:)`` repairs.
    private mutating func mends(_ kind: UserFinding.Kind, _ message: String, _ remedy: String) {
        found(kind, message, remedy, canBeMended: true)
    }

    /// Stores and the control file, if they cannot be read.
    private mutating func failures(_ stores: ReplicaStatuses) {
        let serving = serving(stores)
        let damaged = damaged(stores)?.other
        for (engine, error) in stores.failures.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let sentence = error.description
            if engine == damaged {
                let remedy = "its file is set aside, and the next copy from the serving store makes a new one"
                mends(.unreadable, sentence, remedy)
            } else if let target = DanglingLink.target(pair.address(engine).path) {
                let link = ShellWord.quoted(pair.address(engine).path)
                let other = serving.map {
                    $0.engine == engine
                        ? ""
                        : ", or, if the file is lost for good, remove the link and copy the serving store: `rm \(link)`, then "
                            + "`\(OperatorCommand.name) rollout resync --user U --because TEXT`"
                }
                found(
                    .unreadable,
                    sentence,
                    "mount or put back what the link leads to, \(ShellWord.quoted(target)), or lead it to where the file is now: "
                        + "`ln -sfn FILE \(link)`" + (other ?? "")
                )
            } else if let inTheWay = error.underlying as? FileInTheWay {
                found(.unreadable, "\(inTheWay.path): \(inTheWay.problem)", inTheWay.remedy)
            } else if let obstacle = obstacle(error, engine) {
                let what = error.message.prefix(upTo: error.message.firstIndex(of: ";") ?? error.message.endIndex)
                found(.unreadable, "\(obstacle.path): \(what)", obstacle.remedy)
            } else if error.isLastingDamage, let remedy = remedy(for: engine, at: nil, stores) {
                found(.unreadable, sentence, remedy)
            } else {
                let other = serving.map {
                    ", or accept the \($0.engine.rawValue) store with `\(OperatorCommand.name) rollout accept --user U --engine "
                        + "\($0.engine.rawValue) --because TEXT`, which sets it aside"
                }
                found(
                    .unreadable,
                    sentence,
                    "put the \(engine.rawValue) file back, or restore a backup with "
                        + "`\(OperatorCommand.name) user restore BACKUP --replace --because TEXT`" + (other ?? "")
                )
            }
        }
        // An obstacle has its own finding, with a remedy.
        if let controlFailure, OpeningObstacle(file: directory.path + "/control") == nil {
            found(.unreadable, controlFailure.description, remedy(forFileAt: directory.path + "/control"))
        }
    }

    /// Renames the files of a store that does not serve and has diverged or is damaged. Does nothing if there is none any more.
    func setAside() throws {
        defer { pair.close() }
        let lock = try SwitchLock(directory, options)
        defer { withExtendedLifetime(lock) {} }
        let found = pair.statuses(limitSeconds: options.stepLimitSeconds)
        let (parted, damaged) = (parted(found), damaged(found))
        pair.close()
        if let (serving, other) = parted {
            _ = try pair.known.setAside(pair.address(other.engine), as: "parted-\(serving.epoch)")
        } else if let (serving, other) = damaged {
            _ = try pair.known.setAside(pair.address(other), as: "damaged-\(serving.epoch)")
        }
    }

    // MARK: The folder

    /// Whether a restore or an erasure began whose process died.
    private mutating func isInterrupted() -> Bool {
        if ErasureTombstone(directory).isThere {
            let remedy = "`\(OperatorCommand.name) user erase --user U` finishes it"
            found(.interrupted, "the user is being erased and is not served", remedy)
        } else if Restoration.isBegun(directory) {
            let remedy = "it is finished, as by the next opening of the user"
            mends(.interrupted, "a restore of the user was decided and not finished", remedy)
        }
        return !noted.isEmpty
    }

    /// Whose folder it is. The next opening writes a missing file; until then the user is still found if the folder's name spells out the id.
    private mutating func label() {
        switch directory.label {
        case .own, .missing: break
        case .another:
            found(
                .owner,
                "the file \"user\" names another user",
                "remove the file if it is damaged, or move the folder elsewhere if it is another user's"
            )
        case .empty: mends(.owner, "the file \"user\" is empty", "it is rewritten")
        case .special:
            let message = "something other than a file is where the file \"user\" should be"
            mends(.owner, message, "the file takes its place")
        case .folder: found(.owner, "a folder is where the file \"user\" should be", directory.labelMove)
        case .unreadable(let reason):
            found(
                .owner,
                "the file \"user\" cannot be read: \(String(cString: strerror(reason)))",
                remedy(forFileAt: directory.path + "/user")
            )
        }
    }

    /// Files shared with a snapshot made by hard links.
    private mutating func links() {
        let names = LinkedFiles(directory, pair.known).names
        guard !names.isEmpty else { return }
        mends(
            .linked,
            "files have other names elsewhere (hard links: \(names.joined(separator: ", "))), so a write here would change "
                + "them there",
            "each is replaced by a copy, once no process has the user open; the other names keep the present contents"
        )
    }

    /// What is in the way of the file that an error names.
    private func obstacle(_ error: HabitStoreError, _ engine: EngineName) -> OpeningObstacle? {
        guard let path = error.location.path, path.hasPrefix(directory.path) else { return nil }
        return path == pair.address(engine).path ? OpeningObstacle(lock: path) : OpeningObstacle(file: path)
    }

    /// Files that an opening could not open, although the stores' status may be readable.
    private mutating func obstacles() {
        for obstacle in directory.obstacles(pair.known)
        where !noted.contains(where: { $0.message.contains(obstacle.path) }) {
            found(.unreadable, "\(obstacle.path): cannot be opened: \(obstacle.reason)", obstacle.remedy)
        }
    }

    // MARK: The stores

    /// The store that would serve.
    private func serving(_ found: ReplicaStatuses) -> ReplicaStatus? {
        found.statuses.filter { $0.role == .authoritative && ($0.epoch > 0 || $0.state != nil || $0.token > .zero) }
            .max { ($0.epoch, $0.token) < ($1.epoch, $1.token) }
    }

    private func other(than serving: ReplicaStatus) -> EngineName {
        (serving.state?.engines ?? pair.known.pair(old: serving.engine)).other(than: serving.engine)
    }

    /// Stores that name another machine, next to one that serves here.
    private mutating func namesakes(_ stores: ReplicaStatuses) {
        for store in stores.statuses where check.objection(toMachineOf: store) != nil {
            found(
                .elsewhere,
                "the \(store.engine.rawValue) store belongs to a user with this id on another machine "
                    + "(\(store.machine?.place ?? "")), and no rollout takes this user there",
                "give one of the two another id"
            )
        }
    }

    private mutating func roles(_ stores: ReplicaStatuses) {
        let authoritative = stores.statuses.filter { $0.role == .authoritative && $0.epoch >= StageSwitch.firstEpoch }
        if authoritative.count > 1 {
            let epochs = authoritative.map { "\($0.engine.rawValue) at epoch \($0.epoch)" }.joined(separator: ", ")
            return mends(
                .twoAuthoritative,
                "both stores are authoritative (\(epochs)): the higher epoch counts, the other one was left or put back",
                "the other one is put on standby, unless the one that counts is older than what is known"
            )
        }
        if stores.statuses.isEmpty, stores.failures.isEmpty, control != nil, !check.knowsOfNobody {
            let message = "the user had stores, and there are none"
            return found(
                .noneAuthoritative,
                message,
                "put them back, or restore a backup with `\(OperatorCommand.name) user restore BACKUP`"
            )
        }
        guard serving(stores) == nil, !stores.statuses.isEmpty, !isServingUnread(stores) else { return }
        let roles = stores.statuses.map { "\($0.engine.rawValue) is \($0.role.rawValue)" }.joined(separator: ", ")
        let isClear = stores.statuses.contains { $0.role == .sealed || $0.state?.hasAllAcknowledged == true }
        found(
            .noneAuthoritative,
            "no store is authoritative (\(roles))",
            isClear
                ? "the interrupted move is finished or undone"
                : "put the current store back, or accept one with `\(OperatorCommand.name) rollout accept --user U --engine ENGINE --because TEXT`",
            canBeMended: isClear
        )
    }

    /// Damage in the store that serves, by its engine's own check, which reads all of it: a kill, for example, opens the old store and no more.
    private mutating func damage(_ stores: ReplicaStatuses) {
        guard let serving = serving(stores) else { return }
        do {
            guard let damage = try pair.damage(in: serving.engine) else { return }
            let backup = "restore a backup with `\(OperatorCommand.name) user restore`"
            found(
                .damaged,
                "\(serving.path): the \(serving.engine.rawValue) store serves the user, and is damaged: \(damage)",
                remedy(for: serving.engine, at: serving.token, stores) ?? backup
            )
        } catch {
            found(.unreadable, "the \(serving.engine.rawValue) store cannot be checked: \(error)", "see to the file")
        }
    }

    /// What helps against a damaged store that serves, or would, if the other store is sound.
    private func remedy(for damaged: EngineName, at token: HistoryToken?, _ stores: ReplicaStatuses) -> String? {
        guard let other = stores.statuses.first(where: { $0.engine != damaged && $0.role != .backfilling }),
            !other.isRescued, check.objection(toOwnerOf: other) == nil, check.objection(toMachineOf: other) == nil
        else { return nil }
        if token == nil {
            // Unless another one takes over, which needs no person.
            let engines = pair.engines(stores.statuses, preferring: pair.known.pair())
            let whereabouts = AuthorityResolution(stores, engines, check, isKilled: control?.isKilled == true)
            guard case .refused = whereabouts.answer else { return nil }
        }
        guard (try? pair.damage(in: other.engine) == nil) == true else { return nil }
        if token != nil, other.hasAllAcknowledged {
            return
                "the \(other.engine.rawValue) store is sound and has everything: \(directory.command("demote")) takes the user to it"
        }
        let known = max(
            token ?? .zero,
            control.flatMap { check.isControlForeign(other.lineage) ? nil : $0.mark } ?? .zero
        )
        return directory.remedy(for: damaged, at: known, by: other)
    }

    /// Whether a store that cannot be read now, but is not known to be damaged, may be the one that serves. Its finding says what is wrong; what only
    /// follows from its absence would mislead.
    private func isServingUnread(_ stores: ReplicaStatuses) -> Bool {
        serving(stores) == nil && stores.failures.values.contains { !$0.isLastingDamage }
    }

    private mutating func held(_ stores: ReplicaStatuses, against control: ControlFile) {
        if let serving = serving(stores) {
            if let objection = check.objection(toOwnerOf: serving) ?? check.objection(to: serving, beside: stores) {
                found(.stale, objection.description, "see `\(OperatorCommand.name) rollout accept --help`")
            } else if serving.epoch < control.floor {
                mends(
                    .unfinishedMove,
                    "the store is at epoch \(serving.epoch), and \(control.floor) was claimed for a move that did not happen",
                    "the store is given that epoch"
                )
            }
            if control.isKilled, serving.state?.isKilled != true {
                let message = "the user was killed, and the \(serving.engine.rawValue) store does not record it"
                mends(.killOwed, message, "the kill is recorded in the store")
            }
        }
        if control.owedDifferences > 0 {
            let message = "a difference between the stores was found that the evidence could not record"
            mends(.differenceOwed, message, "it is recorded")
        }
    }

    private mutating func copies(_ stores: ReplicaStatuses) {
        for copy in stores.statuses where copy.role == .backfilling {
            let goesOn = serving(stores)?.state?.stage.mirror != nil
            found(
                .unfinishedCopy,
                "the \(copy.engine.rawValue) store is an unfinished copy",
                goesOn
                    ? "the mirror of the next process that has the user open continues it"
                    : "the next move that needs it continues it"
            )
        }
        if let serving = serving(stores), isMirrorLost(serving, stores) {
            mends(
                .mirrorLost,
                "the \(other(than: serving).rawValue) store is missing, or older than the history reaches, and no write is "
                    + "acknowledged without it",
                "it is copied again from the \(serving.engine.rawValue) store"
            )
        }
        if let (serving, other) = parted(stores) {
            mends(
                .parted,
                "the \(other.engine.rawValue) store has diverged from the \(serving.engine.rawValue) store, which "
                    + "serves: it was put back, or a process that slept wrote to it and was not acknowledged",
                "its file is set aside, and the next copy makes a new one"
            )
        }
    }

    private func isMirrorLost(_ serving: ReplicaStatus, _ found: ReplicaStatuses) -> Bool {
        guard serving.state?.stage.awaitsMirror == true, found.failures[other(than: serving)] == nil else {
            return false
        }
        guard let other = found.status(other(than: serving)) else { return true }
        return other.lineage == serving.lineage
            && (other.role == .backfilling || other.token < serving.information.historyFloor)
    }

    /// The serving store, and another one that has diverged and that nothing depends on.
    private func parted(_ found: ReplicaStatuses) -> (serving: ReplicaStatus, other: ReplicaStatus)? {
        // If no store is known to be current, neither is taken for the worse one.
        let engines = pair.engines(found.statuses, preferring: pair.known.pair())
        let whereabouts = AuthorityResolution(found, engines, check, isKilled: control?.isKilled == true)
        guard case .serves(let serving) = whereabouts.answer, serving.state?.stage.awaitsMirror != true,
            let other = found.status(other(than: serving)), pair.hasParted(other, from: serving),
            // A store of another machine must not be set aside here.
            check.objection(toMachineOf: other) == nil
        else { return nil }
        return (serving, other)
    }

    /// The serving store, if there is no doubt about it, and the other one, if its file is permanently damaged.
    private func damaged(_ found: ReplicaStatuses) -> (serving: ReplicaStatus, other: EngineName)? {
        guard let serving = serving(found), let failure = found.failures[other(than: serving)],
            AuthorityResolution.lastingDamage.contains(failure.code), check.vouches(for: serving),
            let state = serving.state, state.engine(state.stage.authority) == serving.engine
        else { return nil }
        return (serving, other(than: serving))
    }

    // MARK: The evidence

    private mutating func evidence(_ stores: ReplicaStatuses) {
        let log = EvidenceLog(directory, keys: options.evidenceKeys, scratch: scratch)
        let reset =
            "reset it with `\(OperatorCommand.name) rollout evidence reset --user U --because TEXT`, which keeps what is there"
        if log.sizeBytes > 0, access(log.path, W_OK) != 0 {
            let reason = String(cString: strerror(errno))
            return found(
                .unreadable,
                "the evidence cannot be written: \(reason)",
                remedy(forFileAt: log.path, or: reset)
            )
        }
        do {
            // A following store has no anchor of the evidence, but the same epoch as the serving one.
            let remembering = stores.statuses.filter { $0.state != nil && check.objection(toMachineOf: $0) == nil }
            // Where both are written, both have the same epoch, but only the serving store gets each anchor.
            let state = remembering.leading?.state
            let trust = EvidenceTrust(state, seal: log.seal)
            // If lines cannot be taken over now, the summary shows that they are missing.
            let shared = state.flatMap { SharedEvidence(log, pair, $0, limitSeconds: options.stepLimitSeconds) }
            _ = try? shared?.synchronize()
            let summary = try log.summary(trust)
            if let damage = summary.damage {
                return found(.evidence, "the evidence is damaged in line \(damage.line): \(damage.reason)", reset)
            }
            if !summary.containsAnchor || summary.isAnothers {
                // A following store may remember an older end of the evidence than the serving one, which is missing.
                guard serving(stores) != nil else { return }
                return found(.evidence, "the evidence lacks lines that the stores remember", reset)
            }
            let uncounted = try log.uncounted(trust).sentence
            if let difference = summary.evidence.openDifference {
                found(
                    .different,
                    "the stores differ: \(difference.message) (\(difference.time.date.formatted(.iso8601)), at \(difference.stage.rawValue)), and no "
                        + "complete verification has found them equal since",
                    "see what differs with `\(OperatorCommand.name) rollout verify --user U`; if the serving store is right, "
                        + "`\(OperatorCommand.name) rollout resync --user U --because TEXT` rebuilds the other one from it"
                )
            }
            // Only the serving store has each anchor.
            guard let uncounted, !isServingUnread(stores) else { return }
            found(
                .evidenceUncounted,
                uncounted,
                "nothing is wrong with the stores: further reads and `\(OperatorCommand.name) rollout verify --user U` prove "
                    + "again what is missing; if no process died and no key is new, someone else added the lines"
            )
        } catch {
            found(.unreadable, "the evidence cannot be read: \(error)", remedy(forFileAt: log.path, or: reset))
        }
    }

    /// What helps against a file that cannot be read or written.
    ///
    /// - Parameter other: what helps as well, or if its contents are lost.
    private func remedy(forFileAt path: String, or other: String? = nil) -> String {
        let quoted = ShellWord.quoted(path)
        var status = stat()
        guard lstat(path, &status) == 0 else {
            return "put the file back: \(quoted)" + (other.map { "; or \($0)" } ?? "")
        }
        let help =
            if status.st_mode & S_IFMT != S_IFREG {
                FileInTheWay.remedy(at: path)
            } else if access(path, R_OK | W_OK) != 0 {
                "let this account read and write the file: `chmod u+rw \(quoted)`"
            } else {
                "put the newest copy of the file back: \(quoted)"
            }
        return help + (other.map { "; or \($0)" } ?? "")
    }
}

/// A finding about a user's folder that an operator should know.
public struct UserFinding: Sendable, Hashable, Codable {
    /// The kinds of findings.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// A store, or another file of the user's, cannot be read or written.
        case unreadable
        /// The store that serves opens, and its engine's own check finds damage in it.
        case damaged
        /// Both stores are authoritative.
        case twoAuthoritative
        /// No store is authoritative.
        case noneAuthoritative
        /// A store names another machine: the user belongs there, or there is one with the same id there.
        case elsewhere
        /// The store that would serve is older than what was acknowledged, or another user's.
        case stale
        /// A move was claimed and not finished.
        case unfinishedMove
        /// A copy into a store was begun and not finished.
        case unfinishedCopy
        /// The stores have different schema versions: a migration stopped between them.
        case unfinishedMigration
        /// The old store is missing, or cannot be brought up to date from the new one's history, at a stage that writes to both.
        case mirrorLost
        /// The stores have diverged after a common token.
        case parted
        /// A kill was recorded that the store does not know of yet.
        case killOwed
        /// A restore or an erasure was begun and not finished.
        case interrupted
        /// Files have other names elsewhere (hard links), as in a snapshot by `cp -al`.
        case linked
        /// Copies that a killed rehearsal or verification left.
        case leftovers
        /// The evidence is damaged, cut off, or not this user's.
        case evidence
        /// Lines of the evidence speak for the user but do not count: the stores did not acknowledge them, or they lack a key's seal.
        case evidenceUncounted
        /// The stores were found to differ, and no complete verification has found them equal since.
        case different
        /// A difference was recorded that is not in the evidence yet.
        case differenceOwed
        /// The file that names the folder's user is empty or names another user.
        case owner
    }

    /// The kind.
    public let kind: Kind
    /// The finding and its meaning, in one sentence without the user's values.
    public let message: String
    /// What ``UserStores/mend(_:)`` does about it, or what an operator has to do.
    public let remedy: String
    /// Whether it can be repaired without guessing.
    public let canBeMended: Bool
}

extension UserStores {
    /// Finds what is wrong with a user's folder, without changing anything.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without a folder.
    public func examine(_ user: String) throws -> [UserFinding] {
        let directory = try known(user, mayBeErased: true, makesFolder: false)
        var examination = try UserExamination(directory, schema: schema(of: directory), engines, options)
        return try examination.findings()
    }

    /// Repairs what needs no guess: finishes or undoes interrupted moves, removes what killed processes left, sets aside a diverged or damaged store
    /// that does not serve so that it is copied again, and writes what is owed. A store that the app has open stays open.
    ///
    /// - Returns: the remaining findings.
    /// - Throws: why something could not be repaired.
    public func mend(_ user: String) throws -> [UserFinding] {
        let directory = try known(user, mayBeErased: true)
        let findings = try examine(user).filter(\.canBeMended)
        // Leaves a folder alone that is labelled as another user's.
        guard !findings.isEmpty, directory.label != .another else { return try examine(user) }
        try TemporaryCopies.removeUnused(in: directory, engines, onlyKnown: false)
        if findings.contains(where: { $0.kind == .parted || $0.kind == .unreadable }) {
            try UserExamination(directory, schema: schema(of: directory), engines, options).setAside()
        }
        // Opening finishes or undoes interrupted moves, and writes owed evidence.
        let store = try store(
            for: user,
            finishesMigration: findings.contains { $0.kind == .unfinishedMigration },
            mayBegin: true
        )
        // Closed with its last reference, since the app may have it too.
        defer { withExtendedLifetime(store) {} }
        let lease = try store.files.lease()
        let open = lease.user
        try open.recoverBoth()
        let actual = try open.recheck().actual
        if actual.stage.awaitsMirror, actual.obstacle != nil {
            _ = try open.bringUp(actual.other, to: actual)
            _ = try open.recheck()
        }
        // A mirror that is being rebuilt is not a complete store when the following starts.
        _ = open.leases.load()?.mirror?.waitUntilIdle(waitSeconds: options.stepLimitSeconds)
        open.record([])
        return try examine(user)
    }
}

extension OpenUser {
    /// Also corrects the store that does not serve, which openings do not read while the other one decides.
    func recoverBoth() throws {
        try state.withLock { state in
            try withSwitch { look in
                var look = look
                look.change.observesBoth = true
                _ = try recover(look, state.wanted?.engines ?? context.engines.pair())
            }
        }
    }
}
