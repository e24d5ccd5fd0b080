import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// Removes everything that is kept about a user.
///
/// The file `erasing` comes first: from then on no process serves the user from this folder, and the next erasure finishes an interrupted one. The
/// list of backups and the folder's name stay until everything that they lead to is gone. At the end the folder gets a meaningless name in one step,
/// so that no part of it is left under the user's name.
struct Erasure {
    let directory: UserDirectory
    let engines: Engines
    let options: RolloutOptions
    let elsewhere: ExternalErasure?
    /// Files outside the users' folders that may name the user.
    let others: [String]
    /// Whether to fence out a process that has the user open.
    let isForced: Bool

    private var marks: DifferenceMarks { DifferenceMarks(directory) }

    private var belongings: UserData { UserData(directory: directory, engines: engines) }

    /// - Returns: nil if nothing is kept.
    func run(isDry: Bool) throws -> ErasureOutcome? {
        var outcome = try inventory()
        guard !outcome.items.isEmpty else { return nil }
        outcome.unreachable += unreachable()
        if isDry { return outcome }
        try removeOwn(&outcome)
        for path in belongings.remains() { try BackupFiles.remove(path) }
        outcome.isDone = true
        return outcome
    }

    /// Makes sure that no process has the user open, unless the erasure fences it out.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` if one has.
    func requireClosed() throws { _ = try alone(directory.path + "/control") }

    // MARK: Checking

    private func inventory() throws -> ErasureOutcome {
        var outcome = ErasureOutcome(user: directory.user, items: [], unreachable: [])
        outcome.items += try belongings.files()
        outcome.items += try belongings.storesElsewhere().map { .init(kind: "store", place: $0.path) }
        for listed in try belongings.backups() {
            switch listed {
            case .own(let path, let manifest):
                let size = manifest.files.reduce(0) { $0 + $1.sizeBytes }
                outcome.items.append(.init(kind: "backup", place: path, sizeBytes: size))
            case .draft(let path): outcome.items.append(.init(kind: "backup", place: path))
            case .unreachable(let reason): outcome.unreachable.append(reason)
            }
        }
        if let elsewhere {
            let found = try elsewhere.find(directory.user)
            outcome.items += found.items
            outcome.unreachable += found.unreachable
        }
        if marks.isSet(directory) { outcome.items.append(.init(kind: "file", place: marks.path(of: directory))) }
        outcome.items += belongings.remains().map { .init(kind: "folder", place: $0) }
        return outcome
    }

    private func unreachable() -> [String] {
        var lines = others.filter(mentionsUser).map { "\($0) names the user: see to it by hand" }
        for engine in engines.names where engines.isShared(engine) {
            lines.append(
                "what the server of \(engine.rawValue) also keeps: its write-ahead log until it is reused, its replicas, its backups"
            )
        }
        lines += [
            "exports, recordings of queries and of mismatches, and verification reports that were written to separate files",
            "backups of the root, or of a backup, that other programs have made, and copies of either on other machines",
            "logs of the app and of the machine",
            "snapshots of the file system, and freed blocks of a disk: they are not overwritten, since an SSD writes "
                + "elsewhere; only an encrypted disk helps there",
        ]
        return lines
    }

    /// Whether a file contains the user's id.
    private func mentionsUser(_ path: String) -> Bool {
        guard let data = try? BackupFiles.contents(path) else { return false }
        return data.firstRange(of: Data(directory.user.utf8)) != nil
    }

    // MARK: Removing

    private func removeOwn(_ outcome: inout ErasureOutcome) throws {
        let hasFolder = BackupFiles.exists(directory.path)
        let stores = try belongings.storesElsewhere()
        guard hasFolder || !stores.isEmpty else {
            // The rest belongs to other parts.
            try elsewhere?.remove(directory.user)
            try marks.remove(directory)
            return
        }
        // For a store on a server, only the folder can record that an erasure has begun.
        try directory.make()
        let lock = try takeLock()
        defer { withExtendedLifetime(lock) {} }
        let control = directory.path + "/control"
        let isAlone = try alone(control)
        defer { withExtendedLifetime(isAlone) {} }
        try elsewhere?.remove(directory.user)
        CrashPoint.reach("erase.elsewhere")
        try ErasureTombstone(directory).make()
        CrashPoint.reach("erase.decided")
        fence(control)
        for listed in try belongings.backups() {
            switch listed {
            case .own(let path, let manifest):
                if let left = try belongings.remove(path, manifest) { outcome.unreachable.append(left) }
            case .draft(let path): try BackupFiles.remove(path)
            case .unreachable: break
            }
        }
        CrashPoint.reach("erase.backups")
        // Copies first: a folder leads to those on a server.
        for kind in TemporaryCopies.kinds { try TemporaryCopies.remove(kind, in: directory, engines) }
        for address in stores { try engines.discard(address) }
        CrashPoint.reach("erase.stores")
        try removeFolder()
    }

    private func takeLock() throws -> SwitchLock? {
        guard isForced else { return try SwitchLock(directory, options) }
        var patient = options
        patient.lockWaitSeconds = min(options.lockWaitSeconds, options.stepLimitSeconds)
        do {
            return try SwitchLock(directory, patient)
        } catch let error as HabitStoreError where error.code == .busy {
            // The process that has it finds the folder gone.
            options.logger.warning("an erasure goes past a process that keeps a user's switches locked: \(error)")
            return nil
        }
    }

    /// Keeps other processes from opening the user.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` if a process has the user open, unless the erasure fences it out.
    private func alone(_ control: String) throws -> UserPresence? {
        guard BackupFiles.exists(control) else { return nil }
        if let presence = try UserPresence(aloneAt: control) { return presence }
        guard !isForced else { return nil }
        throw HabitStoreError(
            .busy,
            "a process has the user open: end it, or have it close the user; `--force` fences it out, and its next write fails",
            at: .init(path: directory.path)
        )
    }

    /// Makes running writes check again before they are acknowledged, and ends reads: both find that the user is gone.
    private func fence(_ path: String) {
        guard BackupFiles.exists(path), let control = try? ControlFile(path: path, isOpening: false) else { return }
        _ = control.claim(above: control.floor)
        control.invalidate()
        control.ring()
    }

    private func removeFolder() throws {
        // The stores first, and with them what a suspended process would write to.
        for engine in engines.names { try BackupFiles.remove(engines.address(engine, of: directory).path) }
        for name in try BackupFiles.names(directory.path) where name != ErasureTombstone.fileName {
            try BackupFiles.remove(directory.path + "/" + name)
        }
        CrashPoint.reach("erase.files")
        try marks.remove(directory)
        let remains = belongings.users + "/" + UserData.remainsPrefix + UUID().uuidString.lowercased()
        try BackupFiles.move(directory.path, to: remains)
        CrashPoint.reach("erase.renamed")
        try BackupFiles.remove(remains)
    }
}

/// The items that an erasure has removed, or would remove.
public struct ErasureOutcome: Sendable {
    /// Something kept about a user.
    public struct Item: Sendable, Hashable, Codable {
        /// The kind: `store`, `file`, `folder`, `backup`, `fleet`.
        public let kind: String
        /// Its place, even after its removal.
        public let place: String
        /// Its size in bytes; nil if unknown.
        public let sizeBytes: Int?

        /// Makes an item.
        public init(kind: String, place: String, sizeBytes: Int? = nil) {
            (self.kind, self.place, self.sizeBytes) = (kind, place, sizeBytes)
        }
    }

    /// The erased user.
    public let user: String
    /// The items that were removed, or would be.
    public internal(set) var items: [Item]
    /// Data that is, or may be, out of reach, one sentence each.
    public internal(set) var unreachable: [String]
    /// Whether it was removed, rather than only listed.
    public internal(set) var isDone = false

    /// The outcome for two stores of the user together.
    func joined(with other: ErasureOutcome) -> ErasureOutcome {
        var whole = self
        whole.items += other.items.filter { !items.contains($0) }
        whole.unreachable += other.unreachable.filter { !unreachable.contains($0) }
        whole.isDone = isDone && other.isDone
        return whole
    }
}

extension UserStores {
    /// Removes everything kept about a user in all stores under the root: the stores, also on servers, files next to them and files set aside, copies
    /// left by killed processes, the evidence and its archives, the control file, and the backups that this program made, if they are still where it
    /// made them.
    ///
    /// - Parameters:
    ///   - isDry: whether to report only what would be removed.
    ///   - isForced: whether to fence out a process that has the user open: its next operation fails, and does not create the user again.
    ///   - elsewhere: removes what layers above the rollout keep, for any of the stores.
    /// - Returns: what was removed, and what is out of reach.
    /// - Throws: ``HabitStoreError/Code/notFound`` if nothing is kept; ``HabitStoreError/Code/busy`` while a process has the user open; what could
    ///   not be removed. A store whose removal has begun serves no one, and a repeated call continues where this one ended.
    @discardableResult
    public func erase(
        _ user: String,
        isDry: Bool = false,
        isForced: Bool = false,
        elsewhere: ExternalErasure? = nil
    ) throws -> ErasureOutcome {
        let others = try StoreRoot.all(under: place.root).filter { $0 != place }
        let erasures = try ([place] + others).enumerated().map { number, place in
            try erasure(of: user, place, isForced, number == 0 ? elsewhere : nil)
        }
        // Before the first of them removes anything.
        if !isDry { for erasure in erasures { try erasure.requireClosed() } }
        var whole: ErasureOutcome?
        for erasure in erasures {
            guard let part = try erasure.run(isDry: isDry) else { continue }
            whole = whole.map { $0.joined(with: part) } ?? part
        }
        guard let whole else {
            throw HabitStoreError(
                .notFound,
                "there is no such user: nothing is kept about this user under the root",
                at: .init(path: place.root),
                detail: user,
                underlying: NoSuchUser(user: user, root: place.root)
            )
        }
        return whole
    }

    private func erasure(
        of user: String,
        _ place: StoreRoot,
        _ isForced: Bool,
        _ elsewhere: ExternalErasure?
    ) throws -> Erasure {
        let folder = UserDirectory.folder(root: place.path)
        let directory = try UserDirectory(folder: folder, user: user, store: place.name)
        var status = stat()
        if lstat(directory.path, &status) == 0 { try directory.requireOwn() }
        // A folder that names another user may be that user's.
        if directory.label == .another {
            throw HabitStoreError(
                .unsupported,
                "the file \"user\" in the folder names another user: remove it if it is damaged, or move the folder elsewhere",
                at: .init(path: directory.path)
            )
        }
        let beside = (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? []
        return Erasure(
            directory: directory,
            engines: engines.naming(place.name?.text),
            options: options,
            elsewhere: elsewhere,
            others: ([flagFile].compactMap { $0 } + beside.sorted().map { place.path + "/" + $0 }).uniqued(),
            isForced: isForced
        )
    }
}

extension [String] {
    /// The paths without duplicates, in order.
    fileprivate func uniqued() -> [String] {
        var seen: Set<String> = []
        return filter { seen.insert(URL(fileURLWithPath: $0).standardizedFileURL.path).inserted }
    }
}

/// Data about users in a layer above the rollout, such as a fleet.
public struct ExternalErasure: Sendable {
    /// Finds what is kept about a user, and what of it cannot be reached, one sentence each; changes nothing.
    public let find: @Sendable (_ user: String) throws -> (items: [ErasureOutcome.Item], unreachable: [String])
    /// Removes it. Called before anything of the user's own is touched, possibly more than once; may throw.
    public let remove: @Sendable (_ user: String) throws -> Void

    /// Takes both closures.
    public init(
        find: @escaping @Sendable (_ user: String) throws -> (items: [ErasureOutcome.Item], unreachable: [String]),
        remove: @escaping @Sendable (_ user: String) throws -> Void
    ) {
        (self.find, self.remove) = (find, remove)
    }

    /// Joins several of them.
    package init(_ all: [ExternalErasure]) {
        self.init(
            find: { user in
                try all.reduce(into: (items: [], unreachable: [])) { whole, each in
                    let found = try each.find(user)
                    whole.items += found.items
                    whole.unreachable += found.unreachable
                }
            },
            remove: { user in for each in all { try each.remove(user) } }
        )
    }
}

/// Everything that this program can find about a user.
struct UserData {
    let directory: UserDirectory
    let engines: Engines

    /// The folder of all users' folders.
    var users: String { DurableFile.folder(of: directory.path) }

    /// The prefix of folders that an erasure left when it was interrupted at the very end; their names no longer name the user.
    static let remainsPrefix = ".erased-"

    /// The contents of the user's folder, and the folder.
    func files() throws -> [ErasureOutcome.Item] {
        guard BackupFiles.exists(directory.path) else { return [] }
        guard let paths = FileManager.default.subpaths(atPath: directory.path) else {
            throw HabitStoreError(
                .inputOutput,
                "the user's folder cannot be read",
                at: .init(path: directory.path)
            )
        }
        let inside = paths.sorted().map { name -> ErasureOutcome.Item in
            let path = directory.path + "/" + name
            var status = stat()
            guard lstat(path, &status) == 0 else { return .init(kind: "file", place: path) }
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            return .init(
                kind: isFolder ? "folder" : "file",
                place: path,
                sizeBytes: isFolder ? nil : Int(status.st_size)
            )
        }
        return inside + [.init(kind: "folder", place: directory.path)]
    }

    /// The folders that earlier erasures left.
    func remains() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: users)) ?? []
        return names.filter { $0.hasPrefix(Self.remainsPrefix) }.sorted().map { users + "/" + $0 }
    }

    // MARK: Servers

    /// The user's stores outside the folder: on servers, including those that were set aside there.
    ///
    /// - Throws: why it is unknown whether there are any.
    func storesElsewhere() throws -> [StoreAddress] {
        var found: [StoreAddress] = []
        for engine in engines.names {
            let address = engines.address(engine, of: directory)
            guard try !(engines.provider(engine) is any FileEngineProvider), try engines.identity(of: address) != nil
            else {
                continue
            }
            found.append(address)
        }
        // A store that was set aside has a name derived from the store that it was set aside from.
        for engine in engines.names where engines.isShared(engine) {
            found += try setAside(engines.address(engine, of: directory))
        }
        return found
    }

    /// The words and the highest epoch in the names of stores that were set aside. A server's names cannot be listed, so each is asked for.
    private static let words = ["parted", "damaged", "adopted", "replaced", "resynced"]
    private static let mostEpochs = 256

    private func setAside(_ address: StoreAddress) throws -> [StoreAddress] {
        let control = try? ControlFile.copy(of: directory.path + "/control")
        let last = min(control?.floor ?? 16, Self.mostEpochs)
        var found: [StoreAddress] = []
        for epoch in 0...max(0, last) {
            for word in Self.words {
                let aside = engines.address(
                    ofCopy: "\(word)-\(epoch)",
                    of: address,
                    inFolder: directory.path
                )
                if try engines.identity(of: aside) != nil { found.append(aside) }
            }
        }
        return found
    }

    // MARK: Backups

    /// A backup of the list.
    enum Listed {
        /// The user's backup.
        case own(path: String, BackupManifest)
        /// A draft, or the empty folder that an erasure left; it belongs to no other user.
        case draft(String)
        /// Why it is left alone.
        case unreachable(String)
    }

    func backups() throws -> [Listed] {
        var listed: [Listed] = []
        var seen: Set<String> = []
        for entry in try BackupList(directory).entries() {
            if let draft = entry.draft, BackupFiles.exists(draft) { listed.append(.draft(draft)) }
            guard seen.insert(entry.path).inserted else { continue }
            listed.append(judge(entry.path))
        }
        return listed
    }

    private func judge(_ path: String) -> Listed {
        guard BackupFiles.exists(path) else {
            return .unreachable("a backup was made at \(path), but is not there: if it was moved, remove it by hand")
        }
        do {
            let file = path + "/" + UserBackup.manifestName
            let manifest = try BackupManifest(try BackupFiles.contents(file), path: file)
            guard UserKey(manifest.user) == UserKey(directory.user) else {
                return .unreachable("at \(path) there is another user's backup by now: this user's may have been moved")
            }
            return .own(path: path, manifest)
        } catch {
            // The manifest goes last.
            if let names = try? BackupFiles.names(path), names.isEmpty { return .draft(path) }
            return .unreachable(
                "a backup was made at \(path), but what is there now cannot be identified as it (\(error)): remove it by hand"
            )
        }
    }

    /// Removes a backup's files, the manifest last, and the folder if it is empty then.
    ///
    /// - Returns: what is left of it, in a sentence; nil for nothing.
    func remove(_ path: String, _ manifest: BackupManifest) throws -> String? {
        try BackupFiles.remove(path + "/" + UserBackup.digestName)
        for file in manifest.files { try BackupFiles.remove(path + "/" + file.name) }
        // Sidecars that an engine made when a store was opened.
        for store in manifest.stores {
            guard let provider = try? engines.provider(store.engine) as? any FileEngineProvider else { continue }
            for ending in provider.sidecars { try BackupFiles.remove(path + "/" + store.file + ending) }
        }
        CrashPoint.reach("erase.backup")
        try BackupFiles.remove(path + "/" + UserBackup.manifestName)
        guard rmdir(path) != 0 else { return nil }
        return "the folder of the backup \(path) has other files, which are left"
    }
}
