import Foundation
import HabitStore

/// Facts about a user's stores from other sources than their own status; each store is checked against them before it serves.
///
/// A store that was restored from a backup, swapped or moved is itself intact, but older than what was acknowledged. The control file records how far
/// the user had come, the evidence does if the control file cannot, and the other store knows its part. One of them that is right is enough.
struct StatusCheck: Sendable {
    private let directory: UserDirectory
    private let control: ControlFile?
    /// The last token that was acknowledged before the stores were read.
    private let mark: HistoryToken
    private let lineage: UUID?
    private let log: EvidenceLog

    /// Make it before the stores are read, so that writes acknowledged meanwhile do not count against them.
    ///
    /// - Parameter control: nil if there is none, so that only the stores and the evidence are known.
    init(_ directory: UserDirectory, _ control: ControlFile?) {
        self.directory = directory
        self.control = control
        mark = control?.mark ?? .zero
        lineage = control?.lineage
        log = EvidenceLog(directory)
    }

    /// Whether the control file alone shows that a store is current.
    func vouches(for status: ReplicaStatus) -> Bool {
        guard let control, control.confirmed > 0, status.epoch >= control.floor else { return false }
        return status.token >= mark && status.lineage == lineage && objection(toOwnerOf: status) == nil
            && !control.isCopy
            && control.hasSeen(log)
    }

    /// Whether the control file belongs to other stores than the user's, so that it says nothing about them.
    func isControlForeign(_ lineage: UUID) -> Bool { self.lineage.map { $0 != lineage } ?? false }

    /// What shows that the user's folder, or the control file, was restored from a copy; nil if nothing does.
    ///
    /// - Parameter epoch: the epoch of the serving store, before any change.
    func whatWasPutBack(_ epoch: Int) -> String? {
        guard let control else { return nil }
        if control.isCopy { return "the user's folder was put back from a copy, or copied" }
        return control.wasNew && control.confirmed == 0 && epoch >= StageSwitch.firstEpoch
            ? "the control file was missing" : nil
    }

    /// Why a store cannot be this user's; nil if it can.
    func objection(toOwnerOf status: ReplicaStatus) -> HabitStoreError? {
        if let owner = status.owner {
            return owner == directory.owner ? nil : stale(status, "is another user's")
        }
        guard let lineage, status.lineage != lineage else { return nil }
        return stale(status, "does not have the origin of this user's stores")
    }

    /// Why the user is not served here: the stores say that another machine has one of them.
    func objection(toMachineOf status: ReplicaStatus) -> HabitStoreError? {
        guard let machine = status.machine, directory.isElsewhere(machine) else { return nil }
        return HabitStoreError(
            .notAuthoritative,
            "one of the user's stores is on another machine (\(machine.place)), which the user belongs to until the rollout is over: "
                + "open the user there; if it is lost for good, accept the \(status.engine.rawValue) store with "
                + "`\(OperatorCommand.name) rollout accept --user U --engine \(status.engine.rawValue) --because TEXT --other-machine-is-lost`",
            at: .init(path: status.path)
        )
    }

    /// The error if the stores' status alone does not show which of them is current.
    static func objection(toLeaving left: ReplicaStatus, for status: ReplicaStatus) -> HabitStoreError {
        HabitStoreError(
            .notAuthoritative,
            "the \(status.engine.rawValue) store was accepted on another machine while this one continued with the "
                + "\(left.engine.rawValue) store: the user's next opening here, as by `\(OperatorCommand.name) rollout doctor --user U --fix`, finds out whether "
                + "anything is missing there",
            at: .init(path: left.path)
        )
    }

    /// The error of a server store that conflicts with the user's store on this machine.
    func objection(toOriginOf status: ReplicaStatus, beside other: ReplicaStatus) -> HabitStoreError {
        HabitStoreError(
            .staleStore,
            "the \(status.engine.rawValue) store serves a user of this id on other machines, and has another origin than the "
                + "\(other.engine.rawValue) store here: export that, and accept one of the two with "
                + "`\(OperatorCommand.name) rollout accept --user U --engine ENGINE --because TEXT`",
            at: .init(path: other.path)
        )
    }

    /// Why a store must not serve, since it is older than what the user has reached; nil if it may.
    func objection(to status: ReplicaStatus, beside found: ReplicaStatuses) -> HabitStoreError? {
        let other = found.statuses.first { $0.engine != status.engine && $0.lineage == status.lineage }
        let isOurs = !isControlForeign(status.lineage)
        let known = max(isOurs ? confirmed : 0, loggedEpoch(status) ?? 0)
        if status.epoch < known {
            return stale(status, "is at epoch \(status.epoch), and the user has reached \(known)")
        }
        if let other, status.role == .authoritative, other.isLeftBehind {
            return HabitStoreError(
                .staleStore,
                "the \(status.engine.rawValue) store was accepted on another machine, and lacks what the \(other.engine.rawValue) "
                    + "store here holds up to token \(other.token): export that, and accept one of the two with "
                    + "`\(OperatorCommand.name) rollout accept --user U --engine ENGINE --because TEXT`",
                at: .init(path: other.path)
            )
        }
        if let other, status.role == .authoritative, other.role != .backfilling, other.epoch > status.epoch {
            return stale(
                status,
                "is at epoch \(status.epoch), and the \(other.engine.rawValue) store next to it at \(other.epoch)"
            )
        }
        // If the other store is written first, missing writes are carried over from it.
        let isCaughtUp = status.state?.stage.awaitsMirror == true && status.engine == status.state?.engine(.new)
        let ahead = other.flatMap { $0.role == .standby && $0.token > status.token ? $0 : nil }
        if let ahead, !isCaughtUp {
            return stale(
                status,
                "is at token \(status.token), and the copy in the \(ahead.engine.rawValue) store at \(ahead.token)",
                log: log(of: status)
            )
        }
        if isOurs, max(status.token, ahead?.token ?? .zero) < mark {
            return stale(
                status,
                "is at token \(status.token), and token \(mark) was acknowledged",
                log: log(of: status)
            )
        }
        return nil
    }

    /// The highest epoch that was claimed for the user; 0 if unknown.
    var floor: Int { control?.floor ?? 0 }
    private var confirmed: Int { control?.confirmed ?? 0 }

    /// Whether nothing is known of the user, who then never had a store.
    var knowsOfNobody: Bool { confirmed == 0 && log.sizeBytes == 0 }

    /// The error if the user had stores, and there are none.
    func nothingIsLeft() -> HabitStoreError {
        HabitStoreError(
            .staleStore,
            "the user's stores are gone: put them back, or remove the whole folder for the user to start over",
            at: .init(path: directory.path)
        )
    }

    /// The error if the user's current store is gone, and this one does not have everything.
    func onlyCopyIsLeft(_ copy: ReplicaStatus) -> HabitStoreError {
        HabitStoreError(
            .notAuthoritative,
            "the user's current store is missing; the \(copy.engine.rawValue) store next to it is a copy at token "
                + "\(copy.token) and is not served instead: restore the missing file, open the user on the machine that has it, "
                + "or, where it is lost for good, accept the copy with "
                + "`\(OperatorCommand.name) rollout accept --user U --engine \(copy.engine.rawValue) --because TEXT`",
            at: .init(path: directory.path)
        )
    }

    /// Why a store cannot serve at the token that it was brought to; nil if it can.
    func objection(to status: ReplicaStatus, at token: HistoryToken) -> HabitStoreError? {
        guard !isControlForeign(status.lineage), token < mark else { return nil }
        return stale(status, "is at token \(token), and token \(mark) was acknowledged", log: log(of: status))
    }

    /// The epoch of the last move in the evidence, if that is certainly the evidence of this store.
    private func loggedEpoch(_ status: ReplicaStatus) -> Int? {
        if let control, control.confirmed > 0, control.hasSeen(log) { return nil }
        guard let anchor = status.state?.evidence, let trace = try? log.trace(anchor: anchor), trace.containsAnchor
        else { return nil }
        return trace.epoch
    }

    /// The name of a file next to the store whose records the store may lack because it is damaged; nil if there is none.
    private func log(of status: ReplicaStatus) -> String? {
        status.logSuffixes.map { status.path + $0 }.first { BackupFiles.sizeBytes($0) > 0 }
            .map { ($0 as NSString).lastPathComponent }
    }

    private func stale(_ status: ReplicaStatus, _ what: String, log: String? = nil) -> HabitStoreError {
        let causes = "it was put back from a copy, or swapped" + (log.map { ", or its log (\($0)) is damaged" } ?? "")
        let help = log == nil ? "put the current file back" : "keep both files, put the current ones back"
        return HabitStoreError(
            .staleStore,
            "the \(status.engine.rawValue) store \(what): \(causes), and nothing is served or written; \(help), or accept this "
                + "one with `\(OperatorCommand.name) rollout accept --user U --engine \(status.engine.rawValue) --because TEXT`",
            at: .init(path: status.path)
        )
    }
}
