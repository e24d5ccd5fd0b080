import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// The first half of a restore. Nothing changes for the user until everything that is needed lies in a folder inside the user's folder, which then
/// gets the name by which ``Restoration`` finds it.
struct Restoring {
    let backup: UserBackup
    let directory: UserDirectory
    let engines: Engines
    let options: RolloutOptions
    let schema: Schema
    /// Whether the restore may lose what the backup lacks.
    let replaces: Bool
    let by: String
    let because: String

    private var manifest: BackupManifest { backup.manifest }
    private var place: HabitStoreError.Location { .init(path: backup.path) }

    func run(progress: (String, Int, Int) -> Void) throws -> RestorationOutcome {
        try check()
        try backup.requireWhole { progress("backup", $0, $1) }
        let isNew = !BackupFiles.exists(directory.path)
        if !isNew {
            // Nothing was changed yet; an operator has to resolve this first.
            try directory.requireOwn()
            try ErasureTombstone(directory).requireNone()
        }
        try directory.make()
        try directory.claim()
        let lock = try SwitchLock(directory, options)
        defer { withExtendedLifetime(lock) {} }
        try ErasureTombstone(directory).requireNone()
        let control = try ControlFile(path: directory.path + "/control")
        try finishEarlier(control)
        let kind = TemporaryCopies.restorations
        let copies = try kind.lock(in: directory, waitSeconds: options.lockWaitSeconds)
        defer { withExtendedLifetime(copies) {} }
        try TemporaryCopies.remove(kind, in: directory, engines)
        do {
            return try restore(try kind.makeFolder(in: directory), control, isNew: isNew, progress)
        } catch {
            // A decided restore is finished later; the copies of an undecided one are useless.
            let failure = error
            try TemporaryCopies.remove(kind, in: directory, engines)
            throw failure
        }
    }

    private func restore(
        _ folder: String,
        _ control: ControlFile,
        isNew: Bool,
        _ progress: (String, Int, Int) -> Void
    ) throws -> RestorationOutcome {
        let pair = StorePair(directory: directory, schema: schema, access: .readOnly, engines: engines)
        defer { pair.close() }
        let present = pair.statuses(limitSeconds: options.stepLimitSeconds)
        var losses = losses(present, control)
        if !losses.isEmpty, !replaces { throw refusal(losses) }
        let copies = try copy(to: folder, pair, progress)
        CrashPoint.reach("restore.copied")
        losses += parted(present, from: copies, folder, pair)
        if !losses.isEmpty, !replaces { throw refusal(losses) }
        let log = EvidenceLog(directory, keys: options.evidenceKeys)
        try requireWritable(log)
        let logged = try log.newest(Self.lookedAt).records.compactMap(\.event.epoch).max() ?? 0
        let known = (present.statuses + copies).map(\.epoch) + [logged]
        let epoch = control.claim(above: known.max() ?? 0)
        let isKilled =
            manifest.isKilled || control.isKilled || present.statuses.leading?.state?.isKilled == true
        let remembered = try remembered(log, present, copies)
        let plan = try plan(epoch, copies, folder, isKilled: isKilled, remembered, hasLog: log.sizeBytes > 0)
        pair.close()
        try seal(present, epoch)
        CrashPoint.reach("restore.sealed")
        try BackupFiles.create(folder + "/" + Restoration.planName, plan.encoded())
        try BackupFiles.move(folder, to: directory.path + "/" + Restoration.folderName)
        CrashPoint.reach("restore.decided")
        let aside = try Restoration(directory, engines, options, schema: schema).finish(control)
        return RestorationOutcome(
            user: directory.user,
            stage: plan.state.stage,
            engine: plan.engine,
            epoch: epoch,
            token: plan.token,
            isNew: isNew,
            givenUp: losses,
            aside: aside
        )
    }

    private static let lookedAt = 256

    // MARK: Checking

    private func check() throws {
        for store in manifest.stores {
            guard try engines.provider(store.engine) is any FileEngineProvider else {
                throw HabitStoreError(
                    .unsupported,
                    "the backup has a \(store.engine.rawValue) store, which is not restored into a file here",
                    at: place
                )
            }
            guard store.schemaVersion <= schema.version else {
                throw HabitStoreError(
                    .newerVersion,
                    "the \(store.engine.rawValue) store in the backup is of schema version \(store.schemaVersion), and this program knows "
                        + "\(schema.version); restore it with a newer one",
                    at: place
                )
            }
        }
        for engine in engines.names where engines.isShared(engine) {
            let address = engines.address(engine, of: directory)
            guard try engines.identity(of: address) != nil else { continue }
            throw HabitStoreError(
                .unsupported,
                "the user has a store on a server (\(engine.rawValue)), and a backup cannot be restored next to it: take the "
                    + "user back to files, or restore the server",
                at: .init(path: address.path)
            )
        }
    }

    /// Finishes an interrupted restore first: this one replaces its result.
    private func finishEarlier(_ control: ControlFile) throws {
        Restoration.removeEmpty(directory)
        guard Restoration.isBegun(directory) else { return }
        do {
            try Restoration(directory, engines, options, schema: schema).finish(control)
        } catch let error as HabitStoreError where error.code == .corrupt || error.code == .staleStore {
            guard replaces else { throw error }
            let rest = directory.path + "/" + Restoration.folderName
            try BackupFiles.move(rest, to: rest + "-abandoned-\(UUID().uuidString.lowercased())")
        }
    }

    /// The user's data that the backup lacks, as far as known without the backup's stores.
    private func losses(_ present: ReplicaStatuses, _ control: ControlFile) -> [String] {
        var losses: [String] = []
        for status in present.statuses where status.role != .backfilling {
            if status.lineage != manifest.lineage {
                guard status.token > .zero || status.epoch > 0 else { continue }
                losses.append(
                    "the \(status.engine.rawValue) store here has another origin, and is at token \(status.token)"
                )
            } else if status.token > manifest.token {
                losses.append(
                    "the \(status.engine.rawValue) store here is at token \(status.token): "
                        + "\(status.token.rawValue - manifest.token.rawValue) transactions since the backup"
                )
            }
        }
        for engine in present.failures.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            losses.append("the \(engine.rawValue) store here cannot be read, so its contents are unknown")
        }
        guard control.confirmed > 0 else { return losses }
        if let lineage = control.lineage, lineage != manifest.lineage {
            if present.statuses.isEmpty { losses.append("the user's stores had another origin") }
        } else if control.mark > manifest.token, !present.statuses.contains(where: { $0.token >= control.mark }) {
            losses.append("token \(control.mark) was acknowledged")
        }
        return losses
    }

    /// Stores that have diverged from the backup: their transactions differ up to a token that both have.
    private func parted(
        _ present: ReplicaStatuses,
        from copies: [ReplicaStatus],
        _ folder: String,
        _ pair: StorePair
    ) -> [String] {
        guard let serving = copies.first(where: { $0.engine == manifest.serving }) else { return [] }
        let address = StoreAddress(serving.engine, path: folder + "/" + BackupMaking.fileName(serving.engine))
        return present.statuses.compactMap { status in
            guard status.role != .backfilling, status.lineage == serving.lineage else { return nil }
            let token = min(status.token, serving.token)
            let agree = try? pair.read(status.engine) { here, _ in
                let there = try engines.openAsWritten(address, .readOnly, schema: schema, plan: options.migrationPlan)
                defer { there.close() }
                return try here.replicaRead { here in
                    try there.replicaRead { try Replication.agree(here, $0, at: token) }
                }
            }
            guard agree != true else { return nil }
            return "the \(status.engine.rawValue) store here has other transactions up to token \(token)"
        }
    }

    private func refusal(_ losses: [String]) -> HabitStoreError {
        HabitStoreError(
            .staleStore,
            "nothing was restored: the backup is at token \(manifest.token), and \(losses.joined(separator: "; ")). "
                + "With `--replace --because TEXT` that is given up, and the stores are set aside",
            at: .init(path: directory.path)
        )
    }

    /// Once the restore is decided, the user is not served until it is recorded in the evidence.
    private func requireWritable(_ log: EvidenceLog) throws {
        guard BackupFiles.exists(log.path) else { return }
        _ = try log.head()
        guard access(log.path, W_OK) == 0 else {
            throw HabitStoreError(
                .permissionDenied,
                "the evidence cannot be written, and nothing is restored without a line of it: \(String(cString: strerror(errno)))",
                at: .init(path: log.path)
            )
        }
    }

    /// The stores' records of the evidence that stays in use: its lines must not be new to them.
    private func remembered(
        _ log: EvidenceLog,
        _ present: ReplicaStatuses,
        _ copies: [ReplicaStatus]
    ) throws -> RolloutState? {
        let kept = copies.first { $0.engine == manifest.serving }?.state
        guard log.sizeBytes > 0 else { return kept }
        return try [present.statuses.leading?.state, kept].compactMap { $0 }.first { state in
            try state.evidence != nil && log.summary(EvidenceTrust(state, seal: log.seal)).containsAnchor
        }
    }

    // MARK: Copying

    /// Copies the backup's files, and makes sure that the copies match the manifest.
    private func copy(
        to folder: String,
        _ pair: StorePair,
        _ progress: (String, Int, Int) -> Void
    ) throws -> [ReplicaStatus] {
        let total = manifest.files.reduce(0) { $0 + $1.sizeBytes }
        var done = 0
        for file in manifest.files {
            let target = folder + "/" + file.name
            try BackupFiles.copy(backup.path + "/" + file.name, to: target)
            // It may have changed since it was checked.
            guard try BackupFiles.digest(target).sha256 == file.sha256 else {
                throw HabitStoreError(.corrupt, "the backup changed while it was read: \(file.name)", at: place)
            }
            done += file.sizeBytes
            progress("copying", done, total)
        }
        return try manifest.stores.map { store in
            let address = StoreAddress(store.engine, path: folder + "/" + store.file)
            let opened = try engines.openAsWritten(address, .readOnly, schema: schema, plan: options.migrationPlan)
            defer {
                opened.close()
                engines.removeSidecars(of: address)
            }
            let status = try opened.replicaRead { try pair.status(store.engine, $0) }
            guard status.role == store.role, status.epoch == store.epoch, status.token == store.token,
                status.lineage == store.lineage, store.lineage == manifest.lineage,
                status.owner.map({ $0 == directory.owner }) ?? true,
                store.engine != manifest.serving || isServing(status)
            else {
                throw HabitStoreError(
                    .corrupt,
                    "the \(store.engine.rawValue) store in the backup is not the one that its manifest describes",
                    at: place
                )
            }
            return status
        }
    }

    /// Whether a store of the backup itself says what the manifest says about it.
    private func isServing(_ status: ReplicaStatus) -> Bool {
        guard let state = status.state else { return true }
        return state.stage == manifest.stage && state.engine(state.stage.authority) == status.engine
    }

    // MARK: Deciding

    private func plan(
        _ epoch: Int,
        _ copies: [ReplicaStatus],
        _ folder: String,
        isKilled: Bool,
        _ remembered: RolloutState?,
        hasLog: Bool
    ) throws -> RestorationRecord {
        guard let serving = copies.first(where: { $0.engine == manifest.serving }) else {
            throw HabitStoreError(.corrupt, "the backup lacks the serving store", at: place)
        }
        var state =
            serving.state ?? RolloutState(unknown: serving.engine, EnginePair(old: manifest.old, new: manifest.new))
        state.movingTo = nil
        (state.owner, state.machine) = (nil, nil)
        (state.evidence, state.vouched) = (remembered?.evidence, remembered?.vouched)
        var accepted = serving
        if isKilled {
            // Where both are written, the old store has everything, and a killed user is on it.
            accepted = copies.first(where: \.hasAllAcknowledged) ?? serving
            let other = state.engines.other(than: accepted.engine)
            state.engines = EnginePair(old: accepted.engine, new: other)
            (state.stage, state.isKilled, state.fled) = (.off, true, other)
        }
        let stores = try copies.map { status in
            let file = BackupMaking.fileName(status.engine)
            guard let inode = BackupFiles.inode(folder + "/" + file) else {
                throw HabitStoreError(.inputOutput, "a copy of the backup is gone", at: .init(path: folder))
            }
            let follows = state.stage.awaitsMirror || status.hasRole
            return RestorationRecord.Store(
                engine: status.engine,
                file: file,
                inode: inode,
                role: status.engine == accepted.engine ? .authoritative : follows ? .standby : nil
            )
        }
        return RestorationRecord(
            epoch: epoch,
            engine: accepted.engine,
            token: max(accepted.token, state.stage.awaitsMirror ? manifest.token : .zero),
            lineage: manifest.lineage,
            state: state,
            stores: stores,
            evidence: hasLog ? [] : manifest.files.map(\.name).filter { $0.hasPrefix("evidence") },
            by: by,
            because: because,
            backup: backup.path
        )
    }

    /// Takes the role from the stores that will be set aside, each in its own transaction, so that no write is acknowledged there any more. Until
    /// the restore is decided, an opening gives it back.
    private func seal(_ present: ReplicaStatuses, _ epoch: Int) throws {
        for status in present.statuses where status.role == .authoritative && !status.isRescued {
            let address = engines.address(status.engine, of: directory)
            let (engines, schema, place) = (engines, schema, status.place)
            try Deadline.run(seconds: options.stepLimitSeconds, path: address.path) { _ in
                let store = try engines.openAsWritten(address, .readWrite, schema: schema, plan: options.migrationPlan)
                defer { store.close() }
                try store.replicate { replica in
                    let information = try replica.information()
                    // A process that has the user open may have written since the stores were looked at.
                    guard StorePlace(role: information.role, epoch: information.epoch) == place,
                        information.token == status.token
                    else { throw StageSwitch.overtaken(directory) }
                    try replica.setRole(.sealed, epoch: information.epoch)
                }
            }
        }
    }
}

extension EvidenceEvent {
    /// The epoch of an event that begins one.
    fileprivate var epoch: Int? {
        switch self {
        case .stageChanged(_, _, let epoch, _, _, _, _), .adopted(_, let epoch, _, _), .restored(_, let epoch, _, _, _),
            .admitted(_, let epoch):
            epoch
        default: nil
        }
    }
}

/// The outcome of a restore.
public struct RestorationOutcome: Sendable {
    /// The restored user.
    public let user: String
    /// The user's stage afterwards.
    public let stage: Stage
    /// The engine of the serving store.
    public let engine: EngineName
    /// The first epoch of the restored stores.
    public let epoch: Int
    /// The last token in the backup.
    public let token: HistoryToken
    /// Whether the user did not exist before.
    public let isNew: Bool
    /// The losses by the restore, one sentence each.
    public let givenUp: [String]
    /// The paths of the stores that were set aside.
    public let aside: [String]
}
