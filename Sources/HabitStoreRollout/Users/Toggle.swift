import Foundation
@_spi(Engines) import HabitStore

/// Puts a user on another engine, if the flags want that directly.
struct Toggle {
    let open: OpenUser

    private var context: UserContext { open.context }

    /// - Parameters:
    ///   - actual: where the user is.
    ///   - progress: receives the current step.
    func run(from actual: ActualStage, _ progress: (String, Int, Int) -> Void) throws {
        let (known, notes) = open.state.withLock { ($0.wanted, $0.notes) }
        guard let wanted = known, wanted.isDirect, let stage = wanted.stage, stage.authority != actual.stage.authority,
            stage > actual.stage || WayBack(actual, wanted).isDirect
        else { return }
        do {
            try requireToggle(actual, to: stage)
            // The long work comes first, while the current store still takes writes and other processes may move the user.
            open.state.withLock { state in
                state.mirror?.stop()
                state.mirror = nil
            }
            _ = try open.bringUp(actual.other, to: actual) { progress("copying", $0.done, $0.total) }
            try toggle(actual, to: stage, wanted, progress)
        } catch let error as HabitStoreError {
            let present = try open.recheck().actual
            open.state.withLock { $0.notes = notes + ["stays on \(present.engine.rawValue): \(error.description)"] }
        }
    }

    private func isStillProposed(_ proposal: WantedStage) -> Bool {
        let wanted = context.stillWanted
        return wanted.isDirect && wanted.stage == proposal.stage && wanted.engines == proposal.engines
    }

    private func requireToggle(_ actual: ActualStage, to stage: Stage) throws {
        guard !actual.state.hasSwapped(by: open.flags.directSwap(for: context.subject)) else {
            throw HabitStoreError(
                .unsupported,
                "flag files disagree: others have put the user here since these did",
                at: .init(path: open.directory.path)
            )
        }
        guard context.pulledKill == nil, !actual.state.isKilled || stage == .off else {
            throw HabitStoreError(
                .unsupported,
                "the user was killed; `\(OperatorCommand.name) rollout rearm --user U` lets the user go forward again",
                at: .init(path: open.directory.path)
            )
        }
    }

    /// - Parameter proposal: what the flags wanted before the copy was made.
    private func toggle(
        _ known: ActualStage,
        to stage: Stage,
        _ proposal: WantedStage,
        _ progress: (String, Int, Int) -> Void
    ) throws {
        try open.move(
            .toggled,
            from: { look, _ in
                guard look.pulled != nil || isStillProposed(proposal) else {
                    throw HabitStoreError(
                        .unsupported,
                        "the flag file was changed while the copy was made",
                        at: .init(path: open.directory.path)
                    )
                }
                guard let actual = try look.change.recover(known.state.engines), actual.epoch == known.epoch else {
                    throw StageSwitch.overtaken(open.directory)
                }
                return look.pulled == nil ? actual : nil
            }
        ) { look, actual, state in
            let (from, target) = (try open.pair.store(actual.engine), try open.pair.store(actual.other))
            var token = actual.token
            var moved = try look.change.move(
                actual,
                to: stage,
                isKilled: actual.state.isKilled,
                evidence: context.evidence.remembered(actual, open.pair),
                swappedBy: open.flags.directSwap(for: context.subject),
                placedBy: proposal.placement
            ) {
                let report = try context.verification(from, target, named: actual.names).run {
                    progress("verifying", $0.done, $0.total)
                }
                token = report.a.information.token
                guard report.verdict == .match else {
                    open.record(report, of: actual)
                    throw context.differs(report)
                }
            }
            moved.token = token
            let engines = "from \(actual.engine.rawValue) to \(moved.engine.rawValue)"
            state.notes = moved.notes + ["switched \(engines), verified at token \(moved.token)"]
            return moved
        }
    }
}
