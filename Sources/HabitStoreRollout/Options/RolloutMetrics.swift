import HabitStore
import Metrics
import ShadowVerifier

/// The rollout's counters and timers; the article *Metrics* lists them. Single reads are not timed, since that would cost more than it shows;
/// compared reads are, on both engines.
///
/// Every metric with a fixed set of labels is created at the start, with 0: if a series began with 1, its increase would be invisible.
final class RolloutMetrics: Sendable {
    /// The timed operations.
    enum Operation: String, CaseIterable {
        /// A write transaction of the authoritative store.
        case write
        /// Replicating writes to the mirror.
        case mirror
        /// A shadow read.
        case shadow
    }

    /// Measures how long an engine takes for something. Frequent callers keep the stopwatch, which saves the lookup.
    struct Stopwatch: Sendable {
        fileprivate let timer: Metrics.Timer

        func stop(since start: ContinuousClock.Instant) {
            timer.recordNanoseconds(RolloutMetrics.nanoseconds(since: start))
        }
    }

    /// The parts that find differences.
    enum Finder: String, CaseIterable {
        case shadowRead = "shadow_read"
        case verification
        /// A store that turned out to be damaged while it served.
        case open
    }

    /// The outcome of an attempt to promote a user.
    enum Outcome: String, CaseIterable { case promoted, refused, failed }

    private let maker: Maker
    private let stopwatches: [EngineName: [Operation: Stopwatch]]
    private let shadowReads: [Counter]
    private let differences: Labelled<Finder>
    private let lag: Meter
    private let lagging: Meter
    private let open: Gauge
    private let closings: Counter
    private let liveDifferences: Counter
    private let liveAnswers: (asked: Counter, patched: Counter)
    private let kills: Counter
    private let killEngaged: Gauge
    private let outcomes: Labelled<Outcome>
    private let refusals: Labelled<GateReason.Kind>
    private let demotions: Labelled<StageChangeReason>
    private let verifications: Labelled<VerificationReport.Verdict>
    private let verificationDuration: Metrics.Timer
    private let verifiedRecords: Counter
    private let backfilledRecords: Counter
    private let rehearsals: (clean: Counter, failed: Counter)
    private let lastRehearsal: Gauge
    private let evidenceFailures: Counter

    /// - Parameter store: the name of the store whose users these are; nil for those without one.
    init(_ engines: Engines, store: String?, factory: any MetricsFactory = MetricsSystem.factory) {
        let maker = Maker(factory: factory, common: store.map { [("store", $0)] } ?? [])
        self.maker = maker
        var stopwatches: [EngineName: [Operation: Stopwatch]] = [:]
        for engine in engines.names {
            for operation in Operation.allCases {
                let dimensions = [("engine", engine.rawValue), ("operation", operation.rawValue)]
                let timer = maker.timer("operation_duration_seconds", dimensions)
                stopwatches[engine, default: [:]][operation] = Stopwatch(timer: timer)
            }
        }
        self.stopwatches = stopwatches
        shadowReads = ShadowVerdict.allCases.map { maker.counter("shadow_reads_total", [("verdict", $0.rawValue)]) }
        differences = Labelled("differences_total", "found_by", maker)
        lag = maker.meter("mirror_lag_transactions")
        lagging = maker.meter("lagging_users")
        open = maker.gauge("open_users")
        closings = maker.counter("users_closed_total")
        liveDifferences = maker.counter("live_query_differences_total")
        liveAnswers = (
            maker.counter("live_query_answers_total", [("answer", "asked")]),
            maker.counter("live_query_answers_total", [("answer", "patched")])
        )
        kills = maker.counter("kills_total")
        killEngaged = maker.gauge("kill_engaged")
        outcomes = Labelled("promotions_total", "outcome", maker)
        refusals = Labelled("gate_refusals_total", "reason", maker)
        demotions = Labelled("demotions_total", "cause", maker) { $0 != .promoted }
        verifications = Labelled("verifications_total", "verdict", maker)
        verificationDuration = maker.timer("verification_duration_seconds")
        verifiedRecords = maker.counter("verified_records_total")
        backfilledRecords = maker.counter("backfilled_records_total")
        rehearsals = (
            maker.counter("rehearsals_total", [("outcome", "clean")]),
            maker.counter("rehearsals_total", [("outcome", "failed")])
        )
        lastRehearsal = maker.gauge("last_rehearsal_timestamp_seconds")
        evidenceFailures = maker.counter("evidence_write_failures_total")
    }

    /// Makes metrics, adding the prefix of this package's metrics and the labels of the store.
    private struct Maker: Sendable {
        let factory: any MetricsFactory
        let common: [(String, String)]

        func counter(_ name: String, _ dimensions: [(String, String)] = []) -> Counter {
            Counter(label: "habitstore_" + name, dimensions: dimensions + common, factory: factory)
        }

        func gauge(_ name: String) -> Gauge { Gauge(label: "habitstore_" + name, dimensions: common, factory: factory) }

        func meter(_ name: String) -> Meter { Meter(label: "habitstore_" + name, dimensions: common, factory: factory) }

        func timer(_ name: String, _ dimensions: [(String, String)] = []) -> Metrics.Timer {
            Metrics.Timer(label: "habitstore_" + name, dimensions: dimensions + common, factory: factory)
        }
    }

    /// A counter for each value of a label.
    private struct Labelled<Value: Hashable & Sendable & CaseIterable & RawRepresentable<String>>: Sendable {
        private let counters: [Value: Counter]

        init(
            _ name: String,
            _ label: String,
            _ maker: Maker,
            where isMeant: (Value) -> Bool = { _ in true }
        ) {
            let made = Value.allCases.filter(isMeant).map { value in
                (value, maker.counter(name, [(label, value.rawValue)]))
            }
            counters = Dictionary(uniqueKeysWithValues: made)
        }

        func increment(_ value: Value, by count: Int = 1) { counters[value]?.increment(by: count) }
    }

    /// The stopwatch for an operation of an engine; nil for an unknown engine.
    func stopwatch(_ engine: EngineName, _ operation: Operation) -> Stopwatch? { stopwatches[engine]?[operation] }

    fileprivate static func nanoseconds(since start: ContinuousClock.Instant) -> Int64 {
        let parts = (ContinuousClock.now - start).components
        return parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000
    }
}

// MARK: Users

extension RolloutMetrics {
    /// How many transactions a user's mirror lags now, and lagged at the last report.
    func mirrorLag(from before: Int, to now: Int) {
        guard now != before else { return }
        if now > before { lag.increment(by: Double(now - before)) } else { lag.decrement(by: Double(before - now)) }
        if before == 0 { lagging.increment() } else if now == 0 { lagging.decrement() }
    }

    func openUsers(_ count: Int) { open.record(count) }

    /// A user was closed to make room for another one.
    func userClosed() { closings.increment() }

    func stageChanged(from: Stage, to: Stage, _ reason: StageChangeReason) {
        maker.counter("stage_changes_total", [("from", from.rawValue), ("to", to.rawValue)]).increment()
        if to < from { demotions.increment(reason) }
    }

    /// The patched answer of a live query differed from the queried one.
    func liveQueryDiffered() { liveDifferences.increment() }

    func liveQueryAnswered(isPatched: Bool) { (isPatched ? liveAnswers.patched : liveAnswers.asked).increment() }

    /// The kill switch took a user back.
    func killed() { kills.increment() }

    /// Whether the kill switch is pulled for all users.
    func killIsEngaged(_ isEngaged: Bool) { killEngaged.record(isEngaged ? 1 : 0) }

    /// A copy brought so many records into a user's store.
    func backfilled(_ records: Int) { backfilledRecords.increment(by: records) }
}

// MARK: Proof

extension RolloutMetrics {
    /// An attempt to move a user forward ended.
    func promotionEnded(_ outcome: Outcome) { outcomes.increment(outcome) }

    func refused(_ reasons: [GateReason]) {
        promotionEnded(.refused)
        for kind in Set(reasons.map(\.caseName)) { refusals.increment(kind) }
    }

    func shadowRead(_ verdict: ShadowVerdict, _ count: Int) { shadowReads[verdict.position].increment(by: count) }

    func differed(_ finder: Finder, _ count: Int = 1) { differences.increment(finder, by: count) }

    /// A verification ended; its differences are counted too.
    func verified(_ report: VerificationReport) {
        verifications.increment(report.verdict)
        let contents = report.levels.first { $0.name == "contents" }
        verifiedRecords.increment(by: contents?.compared ?? 0)
        differed(.verification, report.openDifferenceCount)
    }

    /// A verification did not finish.
    func verificationFailed() { verifications.increment(.error) }

    func verificationTook(since start: ContinuousClock.Instant) {
        verificationDuration.recordNanoseconds(Self.nanoseconds(since: start))
    }

    /// The way back was rehearsed.
    ///
    /// - Parameter now: seconds since 1970.
    func rehearsed(isClean: Bool, now: Double) {
        (isClean ? rehearsals.clean : rehearsals.failed).increment()
        if isClean { lastRehearsal.record(now) }
    }

    /// Evidence could not be written.
    func evidenceFailed() { evidenceFailures.increment() }
}

/// The outcome of a shadow read.
public enum ShadowVerdict: String, Sendable, Hashable, Codable, CaseIterable {
    /// At the caller's token, the other store gave the answer that the caller got: the same records in the same order, the same count, or the same
    /// error.
    case match
    /// The other store gave another answer, or two stores that were asked again disagreed.
    case mismatch
    /// The other store was past the caller's token, so both were asked at a later token, and they agreed. This says nothing about the caller's
    /// answer, and is not a ``match``.
    case rerun
    /// The stores could not be read at one token, so the outcome is unknown.
    case skewed
    /// A store failed, for a reason other than the query.
    case error
    /// The comparison took too long.
    case timedOut
    /// The comparison was dropped for lack of room.
    case shed
}
