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
        let isIdle = open.leases.load()?.mirror?.waitUntilIdle(waitSeconds: open.options.stepLimitSeconds) ?? true
        let a = try open.pair.store(actual.engine)
        guard try open.pair.exists(actual.other) else {
            throw HabitStoreError(
                .notFound,
                "this user has a \(actual.engine.rawValue) store only; there is nothing to compare it with",
                at: .init(path: open.directory.path)
            )
        }
        let b = try open.pair.store(actual.other)
        if !isIdle { try requireCopied(b, actual.other) }
        let report: VerificationReport
        let start = ContinuousClock.now
        defer { open.context.metrics.verificationTook(since: start) }
        do {
            if open.options.gate.requiresSelfComparison, actual.stage.next == Gate.selfComparedStage {
                try compareWithThemselves(actual, progress)
            }
            report = try open.context.verification(
                a,
                b,
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
        open.record(report, of: actual)
        open.anchorEvidence()
        return report
    }

    /// - Throws: ``HabitStore/HabitStoreError/Code/busy`` if the store is still being filled.
    private func requireCopied(_ store: any UserStoreBackend, _ engine: EngineName) throws {
        guard try store.replicaBookkeeping({ try $0.information().role }) == .backfilling else { return }
        throw HabitStoreError(
            .busy,
            "the copy into the \(engine.rawValue) store is not finished; verify again when it is",
            at: .init(path: open.directory.path)
        )
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
            let outcome = EvidenceEvent.selfCompared(
                side: side,
                token: report.a.information.token,
                isClean: report.isClean
            )
            open.record(outcome, of: actual)
        }
    }

    /// Compares one of the user's stores with itself, using copies.
    func compareWithItself(_ engine: EngineName, _ progress: (String, Int, Int) -> Void) throws -> VerificationReport {
        // Under the lock, any copies found here were left by a killed process.
        let lock = try TemporaryCopies.selfComparisons.lock(
            in: open.directory,
            waitSeconds: open.options.lockWaitSeconds
        )
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
        _ = open.leases.load()?.mirror?.waitUntilIdle(waitSeconds: open.options.stepLimitSeconds)
        // Under the lock, any copies found here were left by a killed process.
        let lock = try TemporaryCopies.rehearsals.lock(in: open.directory, waitSeconds: open.options.lockWaitSeconds)
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
        let outcome = EvidenceEvent.rehearsed(token: actual.token, isClean: failure == nil, message: failure?.message)
        open.record(outcome, of: actual)
        open.anchorEvidence()
        return failure
    }
}

extension OpenUser {
    /// Records the outcome of a verification of the user's stores, which began at a stage.
    func record(_ report: VerificationReport, of actual: ActualStage) {
        let verified = EvidenceEvent.verified(
            token: report.a.information.token,
            epoch: actual.epoch,
            verdict: report.verdict.rawValue,
            coverage: report.coverage,
            differences: report.openDifferenceCount,
            anomalies: report.anomalies.count,
            ignoredRules: report.appliedRuleCount
        )
        context.metrics.verified(report)
        if report.openDifferenceCount > 0 { recordDifference(verified) } else { record(verified, of: actual) }
    }

    /// Records an outcome of a stay. Proof of a stay that has ended counts for nothing, and no store would acknowledge its line, so it is left out.
    fileprivate func record(_ outcome: EvidenceEvent, of actual: ActualStage) {
        if outcome.speaksForTheUser, (try? currentRoute().actual.epoch) != actual.epoch { return }
        record([outcome])
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

/// The way back, rehearsed on copies of a user's stores.
struct Rehearsal {
    private let original: StorePair
    private let folder: UserDirectory
    private let pair: StorePair
    private let actual: ActualStage

    /// Copies both stores next to the user's, replacing copies that a killed process left. The caller holds the lock of the user's rehearsals.
    init(_ original: StorePair, _ actual: ActualStage, schema: Schema) throws {
        self.original = original
        try TemporaryCopies.remove(TemporaryCopies.rehearsals, in: original.directory, original.known)
        folder = try original.directory.inRoot(TemporaryCopies.rehearsals.folder(in: original.directory))
        try folder.make()
        try folder.takeMachine(of: original.directory)
        self.actual = actual
        let copies = try original.known.copied(as: TemporaryCopies.rehearsals.copies[0], by: original.directory)
        pair = StorePair(directory: folder, schema: schema, engines: copies)
        do {
            // The following store first: copied last, it would be ahead if a write came in between.
            for engine in [actual.other, actual.engine] {
                let copy = copies.address(engine, of: folder)
                // An engine may keep the copy outside the folder, which the cleanup above removed with its contents.
                try copies.discard(copy)
                try original.store(engine).backup(to: copy.path)
            }
        } catch {
            remove()
            throw error
        }
    }

    /// Moves to `live`, writes, pulls the kill switch, and checks that the old store is authoritative, current and equal to the new one.
    ///
    /// - Parameter verify: compares the two stores; throws if they differ.
    /// - Throws: what went wrong.
    func run(_ verify: (any UserStoreBackend, any UserStoreBackend) throws -> Void) throws {
        let control = try ControlFile(path: folder.path + "/control")
        let change = StageSwitch(pair: pair, control: control, stepLimitSeconds: 60)
        guard var there = try change.recover(actual.state.engines) else {
            throw HabitStoreError(.internalInconsistency, "the copies of the stores are gone")
        }
        if there.stage < .live { there = try change.move(there, to: .live) }
        try write(there)
        let back = try change.kill(there)
        let (old, new) = (actual.state.engines.old, actual.state.engines.new)
        let statuses = (try pair.status(old), try pair.status(new))
        guard back.engine == old, statuses.0?.role == .authoritative, statuses.0?.token == statuses.1?.token else {
            throw HabitStoreError(
                .internalInconsistency,
                "after the way back the \(old.rawValue) store is not current"
            )
        }
        try verify(try pair.store(old), try pair.store(new))
    }

    /// Makes a write as `live` does, and undoes it.
    private func write(_ there: ActualStage) throws {
        guard there.stage.awaitsMirror else { return }
        let first = try pair.store(there.other)
        // If a unique value is taken, try another sample. A schema that gives no sample is rehearsed without a write.
        for number in 0..<Self.mostSamples {
            guard let sample = try pair.schema.sampleModel(number: Int.random(in: 0..<1_000_000) + number) else {
                return
            }
            do {
                return try write(sample, there, first)
            } catch let error as HabitStoreError where error.code == .uniqueViolation {
                continue
            }
        }
    }

    private static let mostSamples = 20

    private func write<M: PersistentModel>(_ sample: M, _ there: ActualStage, _ first: any UserStoreBackend) throws {
        for step in 0..<2 {
            let terms = WriteTerms(
                epoch: there.epoch,
                willCommit: { replica, transaction in
                    guard transaction != nil else { return }
                    try first.replicate { old in
                        let (origin, information) = (try replica.information(), try old.information())
                        _ = try Replication.carry(from: replica, origin, to: old, information, schema: pair.schema)
                    }
                }
            )
            try pair.store(there.engine).write(author: "rehearsal", under: terms) { transaction in
                if step == 0 { try transaction.insert(sample) } else { try transaction.delete(sample) }
            }
        }
    }

    /// Removes the copies. The next rehearsal removes what cannot be removed now.
    func remove() {
        pair.close()
        try? TemporaryCopies.remove(TemporaryCopies.rehearsals, in: original.directory, original.known)
    }
}

/// Compares a store with itself (A/A). A difference here is a fault of the comparison, whose results about two stores cannot be trusted then.
///
/// The store is copied, the copy is copied, and the two copies are compared. Both are at the same token, whatever is written to the store meanwhile.
struct SelfComparison {
    private let directory: UserDirectory
    private let folder: String
    private let engines: Engines

    /// Replaces copies that a killed process left. The caller holds the lock of the user's self-comparisons.
    init(_ directory: UserDirectory, _ engines: Engines) throws {
        self.directory = directory
        self.engines = engines
        try TemporaryCopies.remove(TemporaryCopies.selfComparisons, in: directory, engines)
        folder = try TemporaryCopies.selfComparisons.makeFolder(in: directory)
    }

    /// Compares a store with itself.
    ///
    /// - Parameters:
    ///   - open: opens a copy.
    ///   - compare: compares two stores.
    func run(
        _ store: any UserStoreBackend,
        _ engine: EngineName,
        open: (StoreAddress) throws -> any UserStoreBackend,
        compare: (any UserStoreBackend, any UserStoreBackend) throws -> VerificationReport
    ) throws -> VerificationReport {
        let addresses = try TemporaryCopies.selfComparisons.copies.map {
            try engines.copied(as: $0, by: directory).address(engine, ofUser: directory.user, inFolder: folder)
        }
        // An engine may keep the copies outside the folder, which the cleanup removed with its contents.
        for address in addresses { try engines.discard(address) }
        return try run(store, addresses, open: open, compare: compare)
    }

    private func run(
        _ store: any UserStoreBackend,
        _ addresses: [StoreAddress],
        open: (StoreAddress) throws -> any UserStoreBackend,
        compare: (any UserStoreBackend, any UserStoreBackend) throws -> VerificationReport
    ) throws -> VerificationReport {
        try store.backup(to: addresses[0].path)
        CrashPoint.reach("selfComparison.copied")
        let copy = try open(addresses[0])
        defer { copy.close() }
        try copy.backup(to: addresses[1].path)
        let second = try open(addresses[1])
        defer { second.close() }
        return try compare(copy, second)
    }

    func remove() throws { try TemporaryCopies.remove(TemporaryCopies.selfComparisons, in: directory, engines) }
}
