import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// Backs up a user while others read and write: copies each store as of one moment, not the same for both.
///
/// The new store is copied before the old one, so that everything in a copy is also in the copy of the store that is written first. No lock is held
/// meanwhile. Instead, the role and epoch of the copies are checked against what the stores said before and against each other, by the rule that an
/// opening follows. If the user was moved in between, everything is copied again, the last time under the lock of the user's switches.
struct BackupMaking {
    let directory: UserDirectory
    let engines: Engines
    let options: RolloutOptions
    let schema: Schema

    private static let attempts = 3

    /// The user was moved while copies were made.
    private struct Moved: Error {}

    private struct Copies {
        var serving: ReplicaStatus
        var state: RolloutState
        var token: HistoryToken
        var stores: [BackupManifest.Store] = []
        var leftOut: String?
    }

    func run(to target: String, progress: (String) -> Void) throws -> BackupOutcome {
        let path = UserBackup.absolute(target)
        try check(path)
        // Keeps the user from being erased meanwhile.
        let presence = try UserPresence(besideOthersAt: directory.path + "/control")
        defer { withExtendedLifetime(presence) {} }
        try ErasureTombstone(directory).requireNone()
        try Restoration.requireNone(directory)
        let list = BackupList(directory)
        let removed = try removeAbandoned(list)
        let draft = "\(path).partial-\(UUID().uuidString.lowercased())"
        let entry = BackupList.Entry(path: path, draft: draft)
        try list.add(entry)
        CrashPoint.reach("backup.listed")
        do {
            let backup = try make(path, in: draft, progress)
            CrashPoint.reach("backup.published")
            return BackupOutcome(backup: backup, removed: removed)
        } catch {
            let failure = error
            try BackupFiles.remove(draft)
            try list.remove(entry)
            throw failure
        }
    }

    private func check(_ path: String) throws {
        guard !BackupFiles.exists(path) else {
            throw HabitStoreError(
                .unsupported,
                "something is here already and is not overwritten; name another place",
                at: .init(path: path)
            )
        }
        let users = URL(fileURLWithPath: directory.path).deletingLastPathComponent().path
        guard !path.hasPrefix(users + "/"), path != users else {
            throw HabitStoreError(
                .unsupported,
                "a backup among the users' own folders would be lost with them; name a place elsewhere",
                at: .init(path: path)
            )
        }
        guard BackupFiles.exists(DurableFile.folder(of: path)) else {
            throw HabitStoreError(.notFound, "the folder for the backup is missing", at: .init(path: path))
        }
    }

    /// Removes the drafts of backups whose processes died, so that no user's records lie around.
    private func removeAbandoned(_ list: BackupList) throws -> [String] {
        try list.entries().compactMap { entry in
            guard let draft = entry.draft, BackupFiles.exists(draft), Self.isAbandoned(draft) else { return nil }
            try BackupFiles.remove(draft)
            return draft
        }
    }

    /// Whether no process is at work on a draft.
    static func isAbandoned(_ draft: String) -> Bool {
        (try? LockedFile(folder: draft, timeoutSeconds: 0)) != nil
    }

    private static func locked(_ draft: String) throws -> LockedFile {
        do {
            return try LockedFile(folder: draft, timeoutSeconds: 0)
        } catch {
            throw HabitStoreError(.inputOutput, "the folder \(error)", at: .init(path: draft))
        }
    }

    private func make(_ path: String, in draft: String, _ progress: (String) -> Void) throws -> UserBackup {
        try PrivateFolder.make(draft, isNew: true, or: .inputOutput, "cannot create a folder here; name another place")
        let lock = try Self.locked(draft)
        defer { withExtendedLifetime(lock) {} }
        let copies = try copies(in: draft, progress)
        CrashPoint.reach("backup.copied")
        progress("evidence")
        let evidence = try copyEvidence(to: draft)
        progress("digests")
        let names = copies.stores.map(\.file) + evidence
        let files = try names.map { name in
            let digest = try BackupFiles.digest(draft + "/" + name)
            return BackupManifest.File(name: name, sizeBytes: digest.sizeBytes, sha256: digest.sha256)
        }
        let control = try ControlFile.copy(of: directory.path + "/control")
        let manifest = BackupManifest(
            user: directory.user,
            store: directory.store?.text,
            state: copies.state,
            serving: copies.serving,
            token: copies.token,
            isKilled: copies.state.isKilled || control?.isKilled == true,
            stores: copies.stores,
            leftOut: copies.leftOut,
            files: files
        )
        let data = try manifest.encoded()
        try BackupFiles.create(draft + "/" + UserBackup.manifestName, data)
        try BackupFiles.create(draft + "/" + UserBackup.digestName, UserBackup.digestLine(data))
        // A forced erasure may have begun despite the presence.
        try ErasureTombstone(directory).requireNone()
        guard !BackupFiles.exists(path) else {
            throw HabitStoreError(
                .unsupported,
                "something is here by now and is not overwritten; name another place",
                at: .init(path: path)
            )
        }
        CrashPoint.reach("backup.written")
        try BackupFiles.move(draft, to: path)
        return UserBackup(made: path, manifest)
    }

    // MARK: The stores

    private func copies(in draft: String, _ progress: (String) -> Void) throws -> Copies {
        for _ in 1..<Self.attempts {
            do {
                return try copiesOnce(in: draft, progress)
            } catch is Moved {
                continue
            }
        }
        let lock = try SwitchLock(directory, options)
        defer { withExtendedLifetime(lock) {} }
        do {
            return try copiesOnce(in: draft, progress)
        } catch is Moved {
            throw HabitStoreError(
                .unsupported,
                "the user's stores do not fit together, as after an interrupted move: "
                    + "`\(OperatorCommand.name) rollout doctor --user U --fix` first",
                at: .init(path: directory.path)
            )
        }
    }

    private func copiesOnce(in draft: String, _ progress: (String) -> Void) throws -> Copies {
        let pair = StorePair(directory: directory, schema: schema, access: .readOnly, engines: engines)
        defer { pair.close() }
        let check = StatusCheck(directory, try ControlFile.copy(of: directory.path + "/control"))
        let found = pair.statuses(limitSeconds: options.stepLimitSeconds)
        let between = pair.engines(found.statuses, preferring: engines.pair())
        let serving: ReplicaStatus
        switch AuthorityResolution(found, between, check, isKilled: false).answer {
        case .nobody:
            throw HabitStoreError(.notFound, "the user has no stores", at: .init(path: directory.path))
        case .refused(let error): throw error
        case .serves(let status): serving = status
        case .acceptedElsewhere, .reopens, .finishes, .takesOver: throw Moved()
        }
        let state = serving.state ?? RolloutState(unknown: serving.engine, between)
        let other = state.engines.other(than: serving.engine)
        let (isIn, leftOut) = try judge(other, found, serving, state)
        // The store that is written later first.
        let order = [state.engines.new, state.engines.old].filter { $0 == serving.engine || isIn }
        var copies = Copies(serving: serving, state: state, token: serving.token, leftOut: leftOut)
        var copied: [ReplicaStatus] = []
        for engine in order {
            progress(engine.rawValue)
            copied.append(try copy(engine, in: draft, pair))
        }
        guard let own = copied.first(where: { $0.engine == serving.engine }), own.place == serving.place,
            own.lineage == serving.lineage, isSame(own.state, serving.state), fit(copied, own)
        else { throw Moved() }
        copies.serving = own
        copies.token = copied.map(\.token).max() ?? own.token
        if !state.stage.awaitsMirror { copies.token = own.token }
        copies.stores = copied.map { status in
            BackupManifest.Store(
                engine: status.engine,
                file: Self.fileName(status.engine),
                role: status.role,
                epoch: status.epoch,
                token: status.token,
                historyFloor: status.information.historyFloor,
                lineage: status.lineage,
                schemaVersion: schemaVersion(status.engine, in: draft)
            )
        }
        return copies
    }

    static func fileName(_ engine: EngineName) -> String { "store.\(engine.rawValue)" }

    private func schemaVersion(_ engine: EngineName, in draft: String) -> Schema.Version {
        let copy = StoreAddress(engine, path: draft + "/" + Self.fileName(engine))
        defer { engines.removeSidecars(of: copy) }
        return (try? engines.outline(copy).version) ?? schema.version
    }

    /// Whether to copy the store that does not serve, and why not.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` if the backup would lack a store that the user needs, or a store is not in a file.
    private func judge(
        _ other: EngineName,
        _ found: ReplicaStatuses,
        _ serving: ReplicaStatus,
        _ state: RolloutState
    ) throws -> (isIn: Bool, leftOut: String?) {
        let status = found.status(other)
        for engine in [serving.engine] + (status == nil ? [] : [other]) {
            guard try engines.provider(engine) is any FileEngineProvider else {
                throw HabitStoreError(
                    .unsupported,
                    "the user's \(engine.rawValue) store is not in a file, and only files are backed up here: back up the server, or copy "
                        + "the store into a file with `\(OperatorCommand.name) copy STORE FILE`",
                    at: .init(path: engines.address(engine, of: directory).path)
                )
            }
        }
        var reason: String?
        if let failure = found.failures[other] {
            reason = "the \(other.rawValue) store cannot be read: \(failure.message)"
        } else if let status {
            if status.role != .standby {
                reason = "the \(other.rawValue) store is \(status.role.rawValue) and does not follow"
            } else if status.lineage != serving.lineage {
                reason = "the \(other.rawValue) store has another origin"
            } else if !state.stage.awaitsMirror, status.token > serving.token {
                reason = "the \(other.rawValue) store has diverged"
            }
        } else if state.stage.mirror != nil {
            reason = "there is no \(other.rawValue) store yet"
        }
        if let reason, state.stage.awaitsMirror {
            throw HabitStoreError(
                .unsupported,
                "\(reason), and at \(state.stage.rawValue) the user needs both: `\(OperatorCommand.name) rollout doctor --user U --fix` first",
                at: .init(path: directory.path)
            )
        }
        return (status != nil && reason == nil, reason)
    }

    /// Copies a store as of one moment, and reads the status of the copy.
    private func copy(_ engine: EngineName, in draft: String, _ pair: StorePair) throws -> ReplicaStatus {
        let copy = StoreAddress(engine, path: draft + "/" + Self.fileName(engine))
        try BackupFiles.remove(copy.path)
        engines.removeSidecars(of: copy)
        try pair.read(engine) { store, _ in try store.backup(to: copy.path) }
        let store = try engines.openAsWritten(copy, .readOnly, schema: schema, plan: options.migrationPlan)
        defer {
            store.close()
            engines.removeSidecars(of: copy)
        }
        return try store.replicaRead { try pair.status(engine, $0) }
    }

    /// Whether an opening of the copies would serve what they were made to serve.
    private func fit(_ copied: [ReplicaStatus], _ own: ReplicaStatus) -> Bool {
        guard let other = copied.first(where: { $0.engine != own.engine }) else { return true }
        guard other.role == .standby, other.lineage == own.lineage, other.epoch <= own.epoch else { return false }
        guard own.state?.stage.awaitsMirror == true else { return other.token <= own.token }
        // This stage writes both, the old one first.
        return other.epoch == own.epoch && other.hasAllAcknowledged && other.token >= own.token
    }

    /// Whether the user was not moved in between. Ignores what a store remembers of the evidence, which changes with each line.
    private func isSame(_ a: RolloutState?, _ b: RolloutState?) -> Bool {
        a?.stage == b?.stage && a?.engines == b?.engines && a?.isKilled == b?.isKilled && a?.movingTo == b?.movingTo
    }

    // MARK: The evidence

    /// Copies all files of the evidence, under a lock that keeps processes from adding to or archiving them.
    private func copyEvidence(to draft: String) throws -> [String] {
        let path = directory.path + "/" + EvidenceLog.fileName
        guard BackupFiles.exists(path) else { return [] }
        let file = try EvidenceFile(path, .read, waitSeconds: options.lockWaitSeconds)
        defer { withExtendedLifetime(file) {} }
        let names = try BackupFiles.names(directory.path).filter { $0.hasPrefix("evidence") && $0.hasSuffix(".jsonl") }
        for name in names { try BackupFiles.copy(directory.path + "/" + name, to: draft + "/" + name) }
        return names
    }
}

extension Engines {
    /// A copy is one file: the sidecars that an engine makes to read it are not part of a backup.
    func removeSidecars(of copy: StoreAddress) {
        guard let provider = try? provider(copy.engine) as? any FileEngineProvider else { return }
        for ending in provider.sidecars { unlink(copy.path + ending) }
    }
}

/// The outcome of a backup.
public struct BackupOutcome: Sendable {
    /// The backup.
    public let backup: UserBackup
    /// The removed drafts of backups whose processes had died.
    public let removed: [String]
}

extension UserStores {
    /// Makes a backup of a user while others read and write: one consistent copy of the stores, with role, epoch and history, and of the
    /// evidence.
    ///
    /// - Parameters:
    ///   - path: the new folder. It is private to its owner, and gets its name when it is complete.
    ///   - progress: receives the current step.
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores; ``HabitStoreError/Code/unsupported`` if the path exists, or a store is
    ///   not in a file; what is wrong with the serving store.
    @discardableResult
    public func backUp(
        _ user: String,
        to path: String,
        progress: (String) -> Void = { _ in }
    ) throws -> BackupOutcome {
        let directory = try known(user)
        let making = BackupMaking(
            directory: directory,
            engines: engines,
            options: options,
            schema: schema(of: directory)
        )
        return try making.run(to: path, progress: progress)
    }

    /// Restores a backup: its stores become the user's, in an epoch above all others, and the evidence records it. Earlier proofs do not count.
    ///
    /// The current stores are set aside next to the new ones, and never deleted. A killed user stays killed, at `off`; any other gets the
    /// backup's stage.
    ///
    /// - Parameters:
    ///   - user: the user that the backup has to belong to; nil for any.
    ///   - replaces: whether to give up what the user has and the backup lacks.
    ///   - person: the operator's name, for the evidence.
    ///   - reason: why, for the evidence.
    ///   - progress: receives the current step and its progress.
    /// - Throws: ``HabitStoreError/Code/staleStore`` if something would be given up and `replaces` is false; ``HabitStoreError/Code/corrupt`` for an
    ///   incomplete backup, ``HabitStoreError/Code/newerVersion`` for one of a newer program, ``HabitStoreError/Code/invalidValue`` for another
    ///   user's; and system errors.
    public func restore(
        _ backup: UserBackup,
        of user: String? = nil,
        replacing replaces: Bool = false,
        by person: String,
        because reason: String,
        progress: (String, Int, Int) -> Void = { _, _, _ in }
    ) throws -> RestorationOutcome {
        if let user, UserKey(user) != UserKey(backup.manifest.user) {
            throw HabitStoreError(
                .invalidValue,
                "the backup is another user's; a backup can be restored only for its own user",
                at: .init(path: backup.path)
            )
        }
        guard backup.manifest.store == place.name?.text else {
            throw HabitStoreError(
                .invalidValue,
                "the backup is of \(Self.words(backup.manifest.store)), and this is \(Self.words(place.name?.text)); "
                    + "a backup can be restored only to its own store",
                at: .init(path: backup.path)
            )
        }
        let directory = try directory(of: backup.manifest.user)
        try rest(backup.manifest.user)
        let restoring = Restoring(
            backup: backup,
            directory: directory,
            engines: engines,
            options: options,
            schema: schema,
            replaces: replaces,
            by: person,
            because: reason
        )
        return try restoring.run(progress: progress)
    }

    private static func words(_ store: String?) -> String {
        store.map { "the store \($0)" } ?? "the store without a name"
    }

    /// Closes the files of a user who is open in this process; the next operation opens the current ones. An engine may open a file that replaced
    /// another one only after its process has closed that one.
    private func rest(_ user: String) throws {
        guard let files = handles.withLock({ $0[user]?.files }), !files.isClosed else { return }
        let end = ContinuousClock.now + .seconds(options.lockWaitSeconds)
        while !files.leases.isShut, files.leases.openUser != nil, !files.closeForAnother(isPatient: false) {
            guard ContinuousClock.now < end else {
                throw HabitStoreError(
                    .busy,
                    "the user is in use in this process; restore again when that has ended",
                    at: .init(path: files.context.directory.path)
                )
            }
            Thread.sleep(forTimeInterval: 0.002)
        }
    }
}
