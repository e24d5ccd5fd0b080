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
            try withSwitch(&routing) { routing, change in
                try directory.claim()
                let revision = flags.revision
                let route = try reroute(&routing, change, revision)
                guard let wanted = routing.wanted, wanted.isDirect, let stage = wanted.stage,
                    stage.authority != route.actual.stage.authority
                else { return }
                do {
                    let moved = try toggle(route.actual, to: stage, change, &routing, progress)
                    let engines = "from \(route.actual.engine.rawValue) to \(moved.engine.rawValue)"
                    routing.notes = moved.notes + ["switched \(engines), verified at token \(moved.token)"]
                    _ = try install(moved, change, nil, revision, &routing)
                } catch let error as HabitStoreError {
                    let actual = try change.settle(old: wanted.old) ?? route.actual
                    routing.notes.append("stays on \(actual.engine.rawValue): \(error.description)")
                    _ = try install(actual, change, nil, revision, &routing)
                }
            }
        }
    }

    private func toggle(
        _ actual: Actual,
        to stage: Stage,
        _ change: StageSwitch,
        _ routing: inout Routing,
        _ progress: (String, Int, Int) -> Void
    ) throws -> Actual {
        guard killTrigger(actual) == nil, !actual.state.isKilled || stage == .off else {
            throw HabitStoreError(
                .unsupported,
                "the user was killed; `habitstore rollout rearm` lets the user go forward again",
                at: .init(path: directory.path)
            )
        }
        let from = try pair.store(actual.engine)
        let target = try pair.create(actual.engine.other)
        // The long work is done while the current store still takes writes.
        let copied = try Backfill(from: from, to: target).run { progress("copying", $0.done, $0.total) }
        var token = copied.token
        let moved = try change.move(actual, to: stage, evidence: anchor(actual)) {
            let report = try verification(from, target).run { progress("verifying", $0.done, $0.total) }
            token = report.a.information.token
            guard report.verdict == .match else { throw differs(report) }
        }
        note(actual, moved, .toggled, &routing)
        var settled = moved
        settled.token = token
        return settled
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
