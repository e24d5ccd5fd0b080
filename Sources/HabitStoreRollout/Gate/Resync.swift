import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier

/// The outcome of rebuilding a user's store: ``UserStore/resync(by:because:progress:)``.
public struct ResyncOutcome: Sendable {
    /// The store that was rebuilt.
    public let engine: EngineName
    /// The serving store, from which it was copied.
    public let source: EngineName
    /// Where the replaced store was moved; nil if there was none.
    public let aside: String?
    /// How many records the copy has, over all entities.
    public let records: Int
    /// The verification of both stores afterwards, also recorded in the evidence.
    public let report: VerificationReport
}

/// Rebuilds the following store from the serving one, and verifies both.
///
/// The replaced store is set aside next to the new one, and never deleted. Once it is set aside, no move reaches it by its name: a move finds the
/// new store, or an unfinished copy, which it completes.
struct Resync {
    let open: OpenUser

    func run(
        by person: String,
        because reason: String,
        _ progress: (String, Int, Int) -> Void
    ) throws -> ResyncOutcome {
        let route = try open.currentRoute()
        if let refusal = route.refusal { throw refusal }
        let actual = route.actual
        guard try actual.stage.mirror != nil || open.pair.exists(actual.other) else {
            throw HabitStoreError(
                .notFound,
                "this user has a \(actual.engine.rawValue) store only, and none at \(actual.stage.rawValue) that follows it: there is nothing to "
                    + "rebuild",
                at: .init(path: open.directory.path)
            )
        }
        try requireSound(actual, progress)
        let aside = try setAside(actual, by: person, because: reason)
        CrashPoint.reach("resync.aside")
        let copied = try copy(actual, progress)
        open.record([.backfilled(token: copied.token, records: copied.records)])
        _ = try open.recheck()
        let report = try Proof(open: open).verify(progress)
        return ResyncOutcome(
            engine: actual.other,
            source: actual.engine,
            aside: aside,
            records: report.b.counts.values.reduce(0, +),
            report: report
        )
    }

    /// Copies the records. A reader in this process may still have the replaced file open for a moment.
    private func copy(_ actual: ActualStage, _ progress: (String, Int, Int) -> Void) throws -> Backfill.Outcome {
        let deadline = ContinuousClock.now + .seconds(open.options.stepLimitSeconds)
        while true {
            do {
                return try open.bringUp(actual.other, to: actual) { progress("copying", $0.done, $0.total) }
            } catch let error as HabitStoreError where error.code == .busy && ContinuousClock.now < deadline {
                Thread.sleep(forTimeInterval: Self.pauseSeconds)
            }
        }
    }

    private static let pauseSeconds = 0.05

    /// Makes sure that no damage is copied: the other store may be the better one.
    private func requireSound(_ actual: ActualStage, _ progress: (String, Int, Int) -> Void) throws {
        let what: String
        do {
            let report = try Proof(open: open).compareWithItself(actual.engine, progress)
            guard !report.isClean else { return }
            what = report.differences.first?.message ?? report.reason ?? report.verdict.rawValue
        } catch let error as HabitStoreError where error.isLastingDamage {
            what = error.message
        }
        throw open.unsound(actual, "is not sound itself (\(what)), so nothing was copied from it")
    }

    /// Renames the other store, holding the lock of the user's switches, after it has recorded the evidence line.
    private func setAside(_ actual: ActualStage, by person: String, because reason: String) throws -> String? {
        try open.state.withLock { state in
            try open.withSwitch { look in
                let now = try open.recover(look, state.wanted?.engines ?? open.context.engines.pair())
                guard let now, (now.engine, now.epoch, now.stage) == (actual.engine, actual.epoch, actual.stage) else {
                    throw StageSwitch.overtaken(open.directory)
                }
                if let pulled = look.pulled, now.stage > .off {
                    throw HabitStoreError(
                        .unsupported,
                        "the kill switch is pulled (\(pulled.text)), and takes the user back first",
                        at: .init(path: open.directory.path)
                    )
                }
                try endReaders(&state)
                let event = EvidenceEvent.resynced(
                    engine: now.other,
                    epoch: now.epoch,
                    token: now.token,
                    by: person,
                    because: reason
                )
                guard open.record([event]) else {
                    throw HabitStoreError(
                        .inputOutput,
                        "the evidence cannot be written, and nothing was changed; see `\(OperatorCommand.name) rollout doctor --user U`",
                        at: .init(path: open.directory.path)
                    )
                }
                CrashPoint.reach("resync.told")
                open.pair.close(now.other)
                var aside: String?
                if try open.pair.exists(now.other) {
                    aside = try open.context.engines.setAside(
                        open.pair.address(now.other),
                        as: "resynced-\(now.epoch)"
                    )
                }
                _ = try open.install(now, look, &state)
                return aside
            }
        }
    }

    /// Makes sure that neither the mirror nor a comparison in this process has the other store open.
    private func endReaders(_ state: inout OpenUser.State) throws {
        let seconds = open.options.stepLimitSeconds
        open.leases.load()?.shadow?.drain(seconds: seconds)
        guard state.mirror?.end(waitSeconds: seconds) ?? true else {
            throw HabitStoreError(
                .busy,
                "the mirror is still using the store to rebuild; nothing was changed, try again",
                at: .init(path: open.directory.path)
            )
        }
        state.mirror = nil
    }
}
