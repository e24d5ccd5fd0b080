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
    let elsewhere: ErasureElsewhere?
    /// Files outside the users' folders that may name the user.
    let others: [String]
    /// Whether to fence out a process that has the user open.
    let isForced: Bool

    private var marks: DifferenceMarks { DifferenceMarks(directory) }

    private var belongings: UserBelongings { UserBelongings(directory: directory, engines: engines) }

    /// - Returns: nil if nothing is kept.
    func run(isDry: Bool) throws -> ErasureOutcome? {
        var outcome = try inventory()
        guard !outcome.items.isEmpty else { return nil }
        outcome.unreachable += unreachable()
        if isDry { return outcome }
        try removeOwn(&outcome)
        for path in belongings.remains() { try KeptFiles.remove(path) }
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
        guard let data = try? KeptFiles.contents(path) else { return false }
        return data.firstRange(of: Data(directory.user.utf8)) != nil
    }

    // MARK: Removing

    private func removeOwn(_ outcome: inout ErasureOutcome) throws {
        let hasFolder = KeptFiles.exists(directory.path)
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
        try ErasureMark(directory).make()
        CrashPoint.reach("erase.decided")
        fence(control)
        for listed in try belongings.backups() {
            switch listed {
            case .own(let path, let manifest):
                if let left = try belongings.remove(path, manifest) { outcome.unreachable.append(left) }
            case .draft(let path): try KeptFiles.remove(path)
            case .unreachable: break
            }
        }
        CrashPoint.reach("erase.backups")
        // Copies first: a folder leads to those on a server.
        for kind in Leftovers.kinds { try Leftovers.remove(kind, in: directory, engines) }
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
        guard KeptFiles.exists(control) else { return nil }
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
        guard KeptFiles.exists(path), let control = try? ControlFile(path: path, isOpening: false) else { return }
        _ = control.claim(above: control.floor)
        control.invalidate()
        control.ring()
    }

    private func removeFolder() throws {
        // The stores first, and with them what a suspended process would write to.
        for engine in engines.names { try KeptFiles.remove(engines.address(engine, of: directory).path) }
        for name in try KeptFiles.names(directory.path) where name != ErasureMark.fileName {
            try KeptFiles.remove(directory.path + "/" + name)
        }
        CrashPoint.reach("erase.files")
        try marks.remove(directory)
        let remains = belongings.users + "/" + UserBelongings.remainsPrefix + UUID().uuidString.lowercased()
        try KeptFiles.move(directory.path, to: remains)
        CrashPoint.reach("erase.renamed")
        try KeptFiles.remove(remains)
    }
}
