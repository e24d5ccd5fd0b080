import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// The second half of a restore, which begins when it is decided: the folder `restoring` then has its name, and contains copies of the backup's
/// stores and a plan. No process serves the user until the restore is finished, by the restore itself, the next opening or the doctor. Every step can
/// be repeated.
struct Restoration {
    static let folderName = "restoring"
    static let planName = "plan.json"
    /// The prefix of folders whose copies are not in use, and the rest of the name in this version.
    static let draftPrefix = "restoring-"
    static let draftName = "copies"

    let directory: UserDirectory
    let engines: Engines
    let options: RolloutOptions
    let schema: Schema

    private var folder: String { directory.path + "/" + Self.folderName }

    init(_ directory: UserDirectory, _ engines: Engines, _ options: RolloutOptions, schema: Schema) {
        (self.directory, self.engines, self.options, self.schema) = (directory, engines, options, schema)
    }

    /// Whether a restore was decided and not finished. Costs a system call. The decision gives the name to a folder with a plan in it, so an empty one
    /// decided nothing.
    static func isBegun(_ directory: UserDirectory) -> Bool {
        BackupFiles.exists("restoring", in: directory.path) && !isEmpty(directory)
    }

    /// Whether the folder is there and empty.
    static func isEmpty(_ directory: UserDirectory) -> Bool {
        let path = directory.path + "/" + folderName
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return false }
        return (try? BackupFiles.names(path).isEmpty) ?? false
    }

    /// Removes the folder if it is empty.
    static func removeEmpty(_ directory: UserDirectory) {
        // The system removes no other folder.
        if BackupFiles.exists("restoring", in: directory.path) { _ = rmdir(directory.path + "/" + folderName) }
    }

    /// - Throws: ``HabitStoreError/Code/staleStore`` if one was, for callers that only read.
    static func requireNone(_ directory: UserDirectory) throws {
        guard isBegun(directory) else { return }
        throw HabitStoreError(
            .staleStore,
            "a restore of the user was interrupted; the next opening, as by `\(OperatorCommand.name) rollout doctor --user U --fix`, finishes it",
            at: .init(path: directory.path)
        )
    }

    /// Does the remaining steps. The caller holds the lock of the user's switches, and has none of the stores open.
    ///
    /// - Returns: the paths of what was set aside.
    @discardableResult
    func finish(_ control: ControlFile) throws -> [String] {
        let path = folder + "/" + Self.planName
        let plan: RestorationRecord
        do {
            plan = try RestorationRecord(try BackupFiles.contents(path), path: path)
        } catch let error as HabitStoreError where error.code == .notFound {
            throw HabitStoreError(
                .corrupt,
                "a restore was interrupted, and its plan is missing; restore the backup again",
                at: .init(path: path)
            )
        }
        try requireCopies(plan)
        do {
            return try carryOut(plan, control)
        } catch let error as HabitStoreError {
            throw HabitStoreError(
                error.code,
                "the restore was decided, and the next opening finishes it: \(error.message)",
                at: error.location,
                detail: error.detail,
                underlying: error,
                isDamage: error.isDamage
            )
        }
    }

    private func carryOut(_ plan: RestorationRecord, _ control: ControlFile) throws -> [String] {
        if let backup = plan.backup { try BackupList(directory).add(.init(path: backup, draft: nil)) }
        control.raise(plan.epoch)
        control.invalidate()
        let aside = try placeStores(plan)
        try placeEvidence(plan)
        let head = try tellEvidence(plan)
        CrashPoint.reach("restore.told")
        try giveRoles(plan, head)
        CrashPoint.reach("restore.opened")
        control.disown()
        if plan.state.isKilled { control.noteKilled(plan.epoch) }
        control.adopt(lineage: plan.lineage, mark: plan.token)
        control.noteCopy()
        control.noteSeen(EvidenceLog(directory, keys: options.evidenceKeys))
        control.publish(plan.state.stage, epoch: plan.epoch)
        // At the end, the rest of the folder gets the name of an undecided restore, which is always removed.
        let rest = directory.path + "/" + Self.draftPrefix + Self.draftName
        try BackupFiles.remove(rest)
        try BackupFiles.move(folder, to: rest)
        CrashPoint.reach("restore.finished")
        try BackupFiles.remove(rest)
        control.ring()
        return aside
    }

    // MARK: Files

    /// Makes sure that each store of the backup was put in place, or still can be.
    private func requireCopies(_ plan: RestorationRecord) throws {
        for store in plan.stores where engines.names.contains(store.engine) {
            guard !BackupFiles.exists(folder + "/" + store.file) else { continue }
            let place = engines.address(store.engine, of: directory).path
            guard BackupFiles.inode(place) != store.inode else { continue }
            throw HabitStoreError(
                .staleStore,
                "a restore of the user was interrupted, and its copy of the \(store.engine.rawValue) store is gone; "
                    + "restore the backup again",
                at: .init(path: place)
            )
        }
    }

    private func placeStores(_ plan: RestorationRecord) throws -> [String] {
        var aside: [String] = []
        for engine in engines.names where !engines.isShared(engine) {
            let place = engines.address(engine, of: directory)
            guard let store = plan.stores.first(where: { $0.engine == engine }) else {
                aside += try setAside(place, plan)
                continue
            }
            let draft = folder + "/" + store.file
            guard BackupFiles.exists(draft) else { continue }
            aside += try setAside(place, plan)
            CrashPoint.reach("restore.aside")
            try BackupFiles.move(draft, to: place.path)
            CrashPoint.reach("restore.placed")
        }
        return aside
    }

    /// Renames a store whose place a store of the backup needs, and the sidecars of a store whose file is gone: a log next to another file would be
    /// taken for its own.
    private func setAside(_ place: StoreAddress, _ plan: RestorationRecord) throws -> [String] {
        let suffix = "replaced-\(plan.epoch)"
        // A link that leads nowhere is set aside as well.
        if BackupFiles.exists(place.path) { return [try engines.setAside(place, as: suffix)] }
        guard let provider = try engines.provider(place.engine) as? any FileEngineProvider else { return [] }
        var aside: [String] = []
        for ending in provider.sidecars where BackupFiles.exists(place.path + ending) {
            var name = "\(place.path)-\(suffix)\(ending)"
            while BackupFiles.exists(name) { name += "-" }
            try BackupFiles.move(place.path + ending, to: name)
            aside.append(name)
        }
        return aside
    }

    /// Places the backup's evidence, for a user without any.
    private func placeEvidence(_ plan: RestorationRecord) throws {
        // The log last: its existence means that this is done.
        for name in plan.evidence.filter({ $0 != EvidenceLog.fileName }) + [EvidenceLog.fileName] {
            let (draft, path) = (folder + "/" + name, directory.path + "/" + name)
            guard BackupFiles.exists(draft) else { continue }
            let log = directory.path + "/" + EvidenceLog.fileName
            guard !BackupFiles.exists(path), !BackupFiles.exists(log) else { continue }
            try BackupFiles.move(draft, to: path)
        }
    }

    /// Writes the line of the evidence, once.
    private func tellEvidence(_ plan: RestorationRecord) throws -> EvidenceHead {
        let log = EvidenceLog(directory, keys: options.evidenceKeys)
        let known = try log.newest(Self.lookedAt).records.last { record in
            if case .restored(_, plan.epoch, _, _, _) = record.event { true } else { false }
        }
        if let known { return EvidenceHead(sequence: known.sequence, hash: known.hash) }
        let event = EvidenceEvent.restored(
            engine: plan.engine,
            epoch: plan.epoch,
            token: plan.token,
            by: plan.by,
            because: plan.because
        )
        let record = try log.append([event], at: Date())
        return EvidenceHead(sequence: record.sequence, hash: record.hash)
    }

    /// How many lines at the end of the evidence to search for a line that was already written.
    private static let lookedAt = 64

    // MARK: Roles

    /// The serving store last, so that two never serve.
    private func giveRoles(_ plan: RestorationRecord, _ head: EvidenceHead) throws {
        var state = plan.state
        var trust = EvidenceTrust(state, seal: nil).takingUpEarlierLines()
        trust.vouched?.insert(head.sequence, head.sequence)
        (state.evidence, state.vouched) = (head, trust.vouched?.text)
        state.owner = directory.owner
        let text = try state.encoded()
        for store in plan.stores.filter({ $0.engine != plan.engine }) + plan.stores.filter({ $0.engine == plan.engine })
        {
            guard let role = store.role else { continue }
            let opened = try engines.openAsWritten(
                engines.address(store.engine, of: directory),
                .readWrite,
                schema: schema,
                plan: options.migrationPlan
            )
            defer { opened.close() }
            try opened.replicate { replica in
                try replica.setRole(role, epoch: plan.epoch)
                try replica.setRolloutState(text)
            }
            CrashPoint.reach("restore.role")
        }
    }
}

/// The goal of a decided restore, in the file `plan.json` of the folder `restoring`. A process that finds it finishes the restore.
struct RestorationRecord: Codable {
    struct Store: Codable {
        let engine: EngineName
        /// The name of its file in the folder.
        let file: String
        /// The file's inode number, which it keeps when it is moved into place.
        let inode: UInt64
        /// Its role after the restore; nil for a store that keeps the one in the backup.
        let role: StoreRole?
    }

    static let currentVersion = 1

    var version = Self.currentVersion
    /// Above every epoch known of the user.
    let epoch: Int
    /// The engine of the store that will serve.
    let engine: EngineName
    /// The last token of the backup.
    let token: HistoryToken
    let lineage: UUID
    /// The state to write to the stores with a role.
    let state: RolloutState
    let stores: [Store]
    /// Evidence files to place if the user has none.
    let evidence: [String]
    let by: String
    let because: String
    /// The backup's path, so that an erasure finds it; nil in a plan of a version without it.
    let backup: String?

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }

    /// - Throws: ``HabitStoreError/Code/newerVersion`` for a plan of a newer version, ``HabitStoreError/Code/unsupported`` for one of an older
    ///   version, ``HabitStoreError/Code/corrupt`` for a damaged one.
    init(_ data: Data, path: String) throws {
        do {
            // First, since only a record of this version has this version's fields.
            let version = try JSONDecoder().decode(Version.self, from: data).version
            guard version == Self.currentVersion else {
                let isNewer = version > Self.currentVersion
                throw HabitStoreError(
                    isNewer ? .newerVersion : .unsupported,
                    "\(isNewer ? "a newer" : "an older") program began a restore; finish it with that program",
                    at: .init(path: path)
                )
            }
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch let error as DecodingError {
            throw HabitStoreError(
                .corrupt,
                "a restore was interrupted, and its plan is damaged; restore the backup again",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    private struct Version: Decodable {
        let version: Int
    }

    init(
        epoch: Int,
        engine: EngineName,
        token: HistoryToken,
        lineage: UUID,
        state: RolloutState,
        stores: [Store],
        evidence: [String],
        by: String,
        because: String,
        backup: String
    ) {
        (self.epoch, self.engine, self.token, self.lineage) = (epoch, engine, token, lineage)
        (self.state, self.stores, self.evidence) = (state, stores, evidence)
        (self.by, self.because, self.backup) = (by, because, backup)
    }
}

/// Files of a user that have other names elsewhere (hard links), as `cp -al` of the root leaves them.
///
/// Stores, control file and evidence are written in place: a write here would change the snapshot, and a write there would change this
/// user. A store's log belongs to one name only. Separating them replaces each of the user's files by a copy and leaves the snapshot
/// unchanged.
struct LinkedFiles {
    private static let control = "control"
    /// The prefix of a file that is being copied.
    private static let draftPrefix = "own-"

    private let directory: UserDirectory
    private let stores: [(file: String, provider: any FileEngineProvider)]

    init(_ directory: UserDirectory, _ engines: Engines) {
        self.directory = directory
        stores = engines.names.compactMap { name in
            guard let provider = try? engines.provider(name) as? any FileEngineProvider else { return nil }
            return ((engines.address(name, of: directory).path as NSString).lastPathComponent, provider)
        }
    }

    /// The control file and stores that have other names. The remaining files then have them too, and matter less.
    var names: [String] { ([Self.control] + stores.map(\.file)).filter(isLinked) }

    /// Replaces each file by a copy. The caller holds the lock of the user's switches, and no process has the user open.
    ///
    /// If the process dies in between, some files are copies and the others still shared, with the same contents; the next opening separates the
    /// rest.
    ///
    /// - Parameter isKnown: whether the control file recognized itself as the one that was written.
    /// - Throws: ``HabitStoreError/Code/busy`` if something other than this library wrote to the files meanwhile.
    func separate(isKnown: Bool) throws {
        let linked = try BackupFiles.names(directory.path).filter { !$0.hasSuffix(".lock") && isLinked($0) }
        let copied = linked.filter { !isDropped($0) }
        let before = copied.map(status)
        for name in copied { try BackupFiles.copy(path(name), to: path(Self.draftPrefix + name)) }
        guard zip(before, copied.map(status)).allSatisfy({ $0 != nil && $0 == $1 }) else {
            for name in copied { try BackupFiles.remove(path(Self.draftPrefix + name)) }
            throw HabitStoreError(
                .busy,
                "the files have other names (hard links), and were written to while they were copied; end what uses them",
                at: .init(path: directory.path)
            )
        }
        if isKnown, copied.contains(Self.control) {
            try ControlFile(path: path(Self.draftPrefix + Self.control), isOpening: false).noteCopy()
        }
        for name in linked.filter(isDropped) { try BackupFiles.remove(path(name)) }
        // The files that `names` looks at come last. A log comes before its store: if the snapshot is written to meanwhile, the
        // store then has an older log, which is refused, rather than a newer one, which would be recovered into it.
        for name in copied.sorted(by: { rank($0) < rank($1) }) {
            try BackupFiles.move(path(Self.draftPrefix + name), to: path(name))
        }
    }

    /// Whether opening the store recreates the file.
    private func isDropped(_ name: String) -> Bool {
        stores.contains { file, provider in
            provider.sidecars.contains { file + $0 == name && !provider.copiedSidecars.contains($0) }
        }
    }

    private func rank(_ name: String) -> Int {
        if name == Self.control { return 2 }
        return stores.contains { $0.file == name } ? 1 : 0
    }

    private func path(_ name: String) -> String { directory.path + "/" + name }

    private func isLinked(_ name: String) -> Bool {
        var status = stat()
        return lstat(path(name), &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_nlink > 1
    }

    /// Changes with every write to the file.
    private func status(_ name: String) -> [Int64]? {
        var status = stat()
        guard lstat(path(name), &status) == 0 else { return nil }
        #if canImport(Darwin)
        let modified = status.st_mtimespec
        #else
        let modified = status.st_mtim
        #endif
        return [Int64(status.st_size), Int64(modified.tv_sec), Int64(modified.tv_nsec)]
    }
}
