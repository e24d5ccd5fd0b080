import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// Removes everything that is kept about a user.
///
/// The file `erasing` comes first: from then on nobody is served from the user's folder, and an erasure that is interrupted is
/// finished by the next one. The list of backups and the folder's name stay until all that they lead to is gone. At the end the folder
/// is given a name that tells nothing, in one step, so that nobody finds a part of it under the user's.
struct Erasure {
    let directory: UserDirectory
    let engines: Engines
    let options: RolloutOptions
    let elsewhere: ErasureElsewhere?
    /// Files outside of the users' folders that may name the user.
    let others: [String]
    /// Whether a process that has the user open is fenced out.
    let isForced: Bool

    private var marks: DifferenceMarks { DifferenceMarks(directory) }

    private var belongings: UserBelongings { UserBelongings(directory: directory, engines: engines) }

    /// - Returns: nil where nothing is kept.
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

    /// Makes sure that no process has the user open, unless it is to be fenced out.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` while one has.
    func requireClosed() throws { _ = try alone(directory.path + "/control") }

    // MARK: Looking

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
                "what the server of \(engine.rawValue) keeps besides: its write-ahead log until it is used again, its replicas, its backups"
            )
        }
        lines += [
            "exports, recordings of queries and of mismatches, and verification reports that were written to files of their own",
            "backups of the root, or of a backup, that other programs have made, and copies of either on other machines",
            "logs of the app and of the machine",
            "snapshots of the file system, and blocks of a disk that are free by now: nothing is written over, since an SSD writes elsewhere; "
                + "an encrypted disk is what helps there",
        ]
        return lines
    }

    /// Whether a file holds the user's id.
    private func mentionsUser(_ path: String) -> Bool {
        guard let data = try? KeptFiles.contents(path) else { return false }
        return data.firstRange(of: Data(directory.user.utf8)) != nil
    }

    // MARK: Removing

    private func removeOwn(_ outcome: inout ErasureOutcome) throws {
        let hasFolder = KeptFiles.exists(directory.path)
        let stores = try belongings.storesElsewhere()
        guard hasFolder || !stores.isEmpty else {
            // What is left is somebody else's.
            try elsewhere?.remove(directory.user)
            try marks.remove(directory)
            return
        }
        // On a server nothing says that an erasure was begun: the folder does.
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
        // Copies first: what leads to them on a server is a folder.
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
            // Who has it finds the folder gone.
            options.logger.warning("an erasure passes by a process that keeps a user's switches locked: \(error)")
            return nil
        }
    }

    /// Keeps everybody from opening the user.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` while a process has the user open, unless it is to be fenced out.
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

    /// No write that is under way is acknowledged without another look, and no read goes on: who looks finds nothing.
    private func fence(_ path: String) {
        guard KeptFiles.exists(path), let control = try? ControlFile(path: path, isOpening: false) else { return }
        _ = control.claim(above: control.floor)
        control.invalidate()
        control.ring()
    }

    private func removeFolder() throws {
        // The stores first, and with them what a process that sleeps would write to.
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
