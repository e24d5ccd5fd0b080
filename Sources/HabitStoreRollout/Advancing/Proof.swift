import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier

/// Proves something about an open user, and records the outcome as evidence.
struct Proof {
    let open: OpenUser

    /// Compares all contents of the user's two stores, and records the outcome as evidence. If the gate to the next stage asks for it, each store is
    /// first compared with itself.
    ///
    /// - Parameter progress: receives the level, what is done of it and its total.
    /// - Throws: why a store cannot be read.
    func verify(_ progress: (String, Int, Int) -> Void) throws -> VerificationReport {
        let actual = try open.currentRoute().actual
        open.leases.load()?.mirror?.retry()
        _ = open.leases.load()?.mirror?.settle(waitSeconds: open.options.stepLimitSeconds)
        let a = try open.pair.store(actual.engine)
        guard try open.pair.exists(actual.other) else {
            throw HabitStoreError(
                .notFound,
                "this user has a \(actual.engine.rawValue) store only; there is nothing to compare it with",
                at: .init(path: open.directory.path)
            )
        }
        let report: VerificationReport
        let start = ContinuousClock.now
        defer { open.context.metrics.verificationTook(since: start) }
        do {
            if open.options.gate.requiresSelfComparison, actual.stage.next == Gate.selfComparedStage {
                try compareWithThemselves(actual, progress)
            }
            report = try open.context.verification(
                a,
                try open.pair.store(actual.other),
                named: actual.names,
                ignoring: open.options.gate.ignoreRules
            ).run {
                progress($0.level, $0.done, $0.total)
            }
        } catch {
            // An earlier verification must not keep counting once a store cannot be read.
            open.record([unverified(actual)])
            open.context.metrics.verificationFailed()
            throw error
        }
        open.record(report, epoch: actual.epoch)
        open.anchorEvidence()
        return report
    }

    /// A verification that did not finish.
    private func unverified(_ actual: ActualStage) -> EvidenceEvent {
        .verified(
            token: actual.token,
            epoch: actual.epoch,
            verdict: VerificationReport.Verdict.error.rawValue,
            coverage: 0,
            differences: 0,
            anomalies: 0,
            ignoredRules: 0
        )
    }

    /// Compares each of the user's stores with itself, and records the outcome as evidence.
    private func compareWithThemselves(_ actual: ActualStage, _ progress: (String, Int, Int) -> Void) throws {
        for side in StoreSide.allCases {
            let report = try compareWithItself(actual.state.engine(side), progress)
            if !report.isClean {
                open.options.logger.error("a store differs from itself: \(open.context.differs(report))")
            }
            open.record([.selfCompared(side: side, token: report.a.information.token, isClean: report.isClean)])
        }
    }

    /// Compares one of the user's stores with itself, using copies.
    func compareWithItself(_ engine: EngineName, _ progress: (String, Int, Int) -> Void) throws -> VerificationReport {
        // Under the lock, any copies found here were left by a killed process.
        let lock = try Leftovers.selfComparisons.lock(in: open.directory, waitSeconds: open.options.lockWaitSeconds)
        defer { withExtendedLifetime(lock) {} }
        let comparison = try SelfComparison(open.directory, open.context.engines)
        let names = ("a copy of \(engine.rawValue)", "a copy of that")
        let outcome = Result {
            try comparison.run(try open.pair.store(engine), engine) { address in
                try open.context.engines.open(address, .readWrite, schema: open.context.schema)
            } compare: { copy, second in
                try open.context.verification(copy, second, named: names).run {
                    progress("self-comparison", $0.done, $0.total)
                }
            }
        }
        try comparison.remove()
        return try outcome.get()
    }

    /// Rehearses the way back on copies of both stores: to `live`, a write there, back to the old store by the kill switch, and a verification that
    /// nothing is missing. The outcome is recorded as evidence.
    ///
    /// - Returns: what went wrong; nil if nothing did.
    /// - Throws: why the copies cannot be made.
    func rehearse() throws -> HabitStoreError? {
        let actual = try open.currentRoute().actual
        _ = open.leases.load()?.mirror?.settle(waitSeconds: open.options.stepLimitSeconds)
        // Under the lock, any copies found here were left by a killed process.
        let lock = try Leftovers.rehearsals.lock(in: open.directory, waitSeconds: open.options.lockWaitSeconds)
        defer { withExtendedLifetime(lock) {} }
        let rehearsal = try Rehearsal(open.pair, actual, schema: open.context.schema)
        defer { rehearsal.remove() }
        var failure: HabitStoreError?
        do {
            try rehearsal.run { a, b in
                let names = StoreSide.allCases.map { "a copy of \(actual.state.engine($0).rawValue)" }
                let report = try open.context.verification(a, b, named: (names[0], names[1])).run()
                guard report.verdict == .match else { throw open.context.differs(report) }
            }
        } catch let error as HabitStoreError {
            failure = error
        }
        open.context.metrics.rehearsed(isClean: failure == nil, now: Date().timeIntervalSince1970)
        open.record([.rehearsed(token: actual.token, isClean: failure == nil, message: failure?.message)])
        open.anchorEvidence()
        return failure
    }
}

extension OpenUser {
    /// Records the outcome of a verification of the user's stores.
    func record(_ report: VerificationReport, epoch: Int) {
        let verified = EvidenceEvent.verified(
            token: report.a.information.token,
            epoch: epoch,
            verdict: report.verdict.rawValue,
            coverage: report.coverage,
            differences: report.openDifferenceCount,
            anomalies: report.anomalies.count,
            ignoredRules: report.appliedRuleCount
        )
        context.metrics.verified(report)
        if report.openDifferenceCount > 0 { recordDifference(verified) } else { record([verified]) }
    }
}

extension ActualStage {
    /// The names of the user's two stores in a report.
    var names: (String, String) { ("\(engine.rawValue) (current)", "\(other.rawValue) (other)") }
}

extension VerificationReport {
    /// Whether no difference was found, ignored ones included.
    var isClean: Bool { verdict == .match && differenceCount == 0 }

    /// The share of records whose contents were compared.
    fileprivate var coverage: Double {
        let records = max(a.counts.values.reduce(0, +), b.counts.values.reduce(0, +))
        guard let contents = levels.first(where: { $0.name == "contents" }) else { return 0 }
        return records == 0 ? 1 : min(1, Double(contents.compared) / Double(records))
    }
}
