import Foundation
import HabitStore
import ShadowVerifier

extension UserStore {
    /// Opens the user, who is put on another engine first where the flags want that directly; an open one is left as is.
    func begin(_ progress: (String, Int, Int) -> Void) throws {
        let isOpen = route.begin()
        defer { route.end() }
        if isOpen { return try requireOpen() }
        try open { routing in
            try directory.make()
            removeLeftovers()
            var actual = try withSwitch(&routing) { routing, change in
                try directory.claim()
                return try reroute(&routing, change, flags.revision).actual
            }
            guard let wanted = routing.wanted, wanted.isDirect, let stage = wanted.stage,
                stage.authority != actual.stage.authority
            else { return }
            let notes = routing.notes
            do {
                try requireToggle(actual, to: stage, wanted)
                // The long work is done while the current store still takes writes, and anybody may be moved.
                routing.mirror?.stop()
                routing.mirror = nil
                _ = try bringUp(actual.other, to: actual) { progress("copying", $0.done, $0.total) }
                try withSwitch(&routing) { routing, change in try toggle(actual, to: stage, change, &routing, progress)
                }
            } catch let error as HabitStoreError {
                try withSwitch(&routing) { routing, change in
                    actual = try reroute(&routing, change, flags.revision).actual
                }
                routing.notes = notes + ["stays on \(actual.engine.rawValue): \(error.description)"]
            }
        }
    }

    /// A process that was killed leaves copies of a person's records, which must not lie about until somebody makes new ones.
    private func removeLeftovers() {
        do {
            try Leftovers.removeUnused(in: directory, onlyKnown: true)
        } catch {
            options.logger.error("copies that a killed process has left cannot be removed: \(error)")
        }
    }

    /// What a user's state remembers of a flag file that has put the user on another engine directly.
    var directTurn: String { "direct-" + flags.identity }

    private func requireToggle(_ actual: Actual, to stage: Stage, _ wanted: WantedStage) throws {
        guard !actual.state.hasTurned(by: directTurn) else {
            throw HabitStoreError(
                .unsupported,
                "flag files disagree: others have put the user here since these did",
                at: .init(path: directory.path)
            )
        }
        guard !isKillPulled, !actual.state.isKilled || stage == .off else {
            throw HabitStoreError(
                .unsupported,
                "the user was killed; `habitstore rollout rearm` lets the user go forward again",
                at: .init(path: directory.path)
            )
        }
    }

    private func toggle(
        _ known: Actual,
        to stage: Stage,
        _ change: StageSwitch,
        _ routing: inout Routing,
        _ progress: (String, Int, Int) -> Void
    ) throws {
        let revision = flags.revision
        guard let actual = try change.settle(known.state.engines), actual.epoch == known.epoch else {
            throw StageSwitch.overtaken(directory)
        }
        guard !isKillPulled else { return }
        let (from, target) = (try pair.store(actual.engine), try pair.store(actual.other))
        var token = actual.token
        var moved = try change.move(
            actual,
            to: stage,
            isKilled: actual.state.isKilled,
            evidence: remembered(actual),
            turnedBy: directTurn
        ) {
            let report = try verification(from, target).run { progress("verifying", $0.done, $0.total) }
            token = report.a.information.token
            guard report.verdict == .match else { throw differs(report) }
        }
        moved.token = token
        note(actual, moved, .toggled, &routing)
        _ = try install(moved, change, nil, revision, &routing)
        let engines = "from \(actual.engine.rawValue) to \(moved.engine.rawValue)"
        routing.notes = moved.notes + ["switched \(engines), verified at token \(moved.token)"]
    }

    func verification(
        _ a: any UserStoreBackend,
        _ b: any UserStoreBackend,
        ignoring rules: IgnoreRules = .none
    ) -> ShadowVerifier {
        var options = VerificationOptions()
        options.queries = queries
        options.ignoreRules = rules
        return ShadowVerifier(.init(name: "current", store: a), .init(name: "other", store: b), options: options)
    }

    func differs(_ report: VerificationReport) -> HabitStoreError {
        let first = report.reason ?? report.differences.first?.message ?? ""
        return HabitStoreError(
            .unsupported,
            "the verification found \(report.differenceCount) differences, first: \(first)",
            at: .init(path: directory.path)
        )
    }
}
