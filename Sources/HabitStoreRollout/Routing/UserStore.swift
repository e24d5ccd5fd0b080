import FeatureFlags
import Foundation
import HabitStore
import Logging
import ShadowVerifier
import Synchronization

/// A user's store: reads, shadow reads, writes and mirroring follow the stage that the user is at in truth.
///
/// Each operation asks two atomic numbers whether anything may have changed: one that the flag files move, and one that all
/// processes share for this user. Only when one of them has is the lock of the user's switches taken and looked again. The
/// stage is looked at once per operation: an operation that has begun is finished by the store that it began on.
///
/// This is a handle, and may be kept for as long as the app likes. The files behind it are closed when other users need the
/// room (``RolloutOptions/maximumOpenUsers``), never under an operation, and opened again by the next one: that finds out
/// anew where the user is, so that whatever happened meanwhile holds for it.
public final class UserStore: HabitStore {
    /// Whose store it is.
    public let user: String
    /// The entities.
    public let schema: Schema
    /// Where the async forms run.
    public var dispatcher: StoreDispatcher {
        // As in an operation, which keeps the control file mapped; it opens nothing.
        let isOpen = route.begin()
        defer { route.end() }
        let word = isOpen ? control.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.word } : nil
        return lanes.dispatcher(word: word, revision: flags.revision)
    }

    let directory: UserDirectory
    /// The two stores, as long as the user is open. Later ones are others: what was left to itself opens none again.
    var pair: StorePair { pairs.withLock { pair in pair.open(directory, schema, engines) } }
    /// The engines that there are.
    let engines: Engines
    let options: RolloutOptions
    let flags: FlagWatch
    private let revision: FlagWatch.Revision
    let context: EvaluationContext
    let queries: [QueryFile.Query]
    let metrics: RolloutMetrics
    let evidence: EvidenceLog
    let shadowTotals = ShadowTotals()

    /// What is guarded by the lock within this process.
    struct Routing {
        var control: ControlFile?
        var wanted: WantedStage?
        var notes: [String] = []
        /// What follows the authoritative store, in the stages that have it.
        var mirror: Mirror?
        /// The epoch of the last move that the evidence is known to have.
        var loggedEpoch: Int?
    }

    let routing = Mutex(Routing())
    /// Evidence that could not be written yet.
    let unwritten = Mutex<[EvidenceEvent]>([])
    /// Evidence of this process that the stores were not told of yet.
    let unanchored = Mutex(UnanchoredEvidence())
    /// Held by who writes evidence down.
    let recording = Mutex<Void>(())
    let route = RouteReference()
    /// The control file, as soon as it is mapped; kept by ``routing``.
    let control = Atomic<Unmanaged<ControlFile>?>(nil)
    /// How many copies are being made that need the history to stay as it is.
    let historyReaders = Atomic<Int>(0)
    /// The flags' revision at which the route was found right.
    let checkedRevision = Atomic<Int>(0)
    let lanes: OperationLanes
    let advancer = Mutex<Ticker?>(nil)
    let pool: UserPool
    let pairs = Mutex(Pair())
    private let ended = Atomic<Bool>(false)
    /// How far the mirror was when the user was closed for another one.
    let restingMirror = Mutex<MirrorStatus>(.none)

    /// How often an operation looks for its way anew before it gives up: each time somebody has moved the user meanwhile.
    private static let maximumAttempts = 1_000

    init(
        directory: UserDirectory,
        schema: Schema,
        engines: Engines,
        options: RolloutOptions,
        flags: FlagWatch,
        attributes: [String: FlagValue],
        queries: [QueryFile.Query],
        metrics: RolloutMetrics,
        pool: UserPool
    ) {
        user = directory.user
        self.schema = schema
        self.directory = directory
        self.engines = engines
        self.options = options
        self.flags = flags
        revision = flags.counter
        self.queries = queries
        self.metrics = metrics
        self.pool = pool
        context = EvaluationContext(targetingKey: directory.user, attributes: attributes)
        lanes = OperationLanes(label: directory.path)
        evidence = EvidenceLog(directory, keys: options.evidenceKeys)
    }

    deinit { close() }

    // MARK: What is known

    /// Where the user is, as this process knows.
    ///
    /// - Throws: why the user's stores cannot be served.
    public func stage() throws -> Stage { try leased { try currentRoute().actual.stage } }

    /// The engine that reads come from.
    ///
    /// - Throws: as ``stage()`` does.
    public func engine() throws -> EngineName { try leased { try currentRoute().actual.engine } }

    /// The stage that the flags want; nil when they say nothing.
    public var wantedStage: Stage? { routing.withLock { $0.wanted?.stage } }

    /// The engine that would serve at the wanted stage; nil when the flags say nothing.
    public var wantedEngine: EngineName? {
        routing.withLock { routing in
            routing.wanted.flatMap { wanted in
                wanted.stage.map { $0.authority == .old ? wanted.engines.old : wanted.engines.new }
            }
        }
    }

    /// What an engineer should know: a switch that was made, or why one was not.
    public var notes: [String] { routing.withLock { $0.notes } }

    /// How far the mirror is.
    public var mirrorStatus: MirrorStatus {
        guard let route = route.present else { return restingMirror.withLock { $0 } }
        if let mirror = route.mirror { return mirror.status }
        guard route.first != nil else { return .none }
        return route.actual.obstacle.map { .lagging(since: route.actual.token, $0) } ?? .current(route.actual.token)
    }

    /// How many shadow reads came out how in this process, since the store was opened.
    public var shadowReads: [ShadowVerdict: Int] { shadowTotals.all }

    /// Waits until what was read before is compared, `seconds` at most.
    package func drainShadowReads(seconds: Double) { route.present?.shadow?.drain(seconds: seconds) }

    // MARK: Operations

    /// Runs `body` over one moment of the store that answers at the user's stage.
    public func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try begin()
        defer { route.end() }
        do {
            return try read(on: try currentRoute(), body)
        } catch is ReadRefused {
            return try readAnew(body)
        }
    }

    @inline(__always)
    private func read<R>(on route: Route, _ body: (any ReadTransaction) throws -> R) throws -> R {
        do {
            guard route.shadow != nil || options.queryRecorder != nil else {
                return try route.authority.read(while: route.condition, body)
            }
            return try route.authority.read(while: route.condition) { try recorded($0, route.shadow, body) }
        } catch let error as HabitStoreError
            where error.isDamage && route.first != nil && error.location.path == route.authority.path
        {
            // This read has begun and is not begun again; the next one is answered by the store that is sound.
            leave(route, error)
            throw error
        } catch let error as HabitStoreError where isLeft(by: error) {
            forget(route)
            throw error
        }
    }

    /// Whether an error says that a store was closed while the user was not: its file was replaced, and the next operation is
    /// for the one that is there now.
    func isLeft(by error: HabitStoreError) -> Bool { error.code == .closed && !isClosed }

    /// A read that was refused by the store that it knew of.
    private func readAnew<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        for _ in 0..<Self.maximumAttempts {
            let route = try currentRoute()
            do {
                return try read(on: route, body)
            } catch is ReadRefused {
                forget(route)
            }
        }
        throw unsteady()
    }

    private func recorded<R>(
        _ transaction: any ReadTransaction,
        _ shadow: ShadowReader?,
        _ body: (any ReadTransaction) throws -> R
    ) throws -> R {
        let recording = RecordingTransaction(transaction, shadow, options.queryRecorder)
        defer { recording.finish() }
        return try body(recording)
    }

    /// Runs `body` in a write transaction of the authoritative store, and carries it over as the user's stage says.
    @discardableResult
    public func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        guard let recorder = options.queryRecorder else { return try written(author, body) }
        return try written(author) { try body(RecordingWriteTransaction($0, recorder)) }
    }

    private func written<R>(_ author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try begin()
        defer { route.end() }
        for _ in 0..<Self.maximumAttempts {
            var route = try currentRoute()
            if route.refusal != nil || route.actual.obstacle != nil { route = try recheck() }
            if let refusal = route.refusal { throw refusal }
            do {
                return try route.first == nil
                    ? writeHere(route, author, body)
                    : writeFirstThere(route, author, body)
            } catch is Rerouted {
                forget(route)
            }
        }
        throw unsteady()
    }

    /// Runs `body` over one moment, on a thread of the store's own.
    public func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.read(body) }
    }

    /// Runs `body` in a write transaction, on a thread of the store's own.
    @discardableResult
    public func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.write(author: author, attempt.guarding(body)) }
    }

    // MARK: The way

    /// The user was moved before the operation began: it looks for its way anew.
    struct Rerouted: Error {}

    /// The route in force, within an operation: two atomic loads, while nothing changes.
    func currentRoute() throws -> Route {
        if let route = route.load(), isInForce(route) { return route }
        return try reroute()
    }

    @inline(__always)
    private func isInForce(_ route: Route) -> Bool {
        route.condition.holds
            && revision.number.load(ordering: .acquiring) == checkedRevision.load(ordering: .acquiring)
    }

    func publish(_ control: ControlFile) {
        self.control.store(Unmanaged.passUnretained(control), ordering: .releasing)
    }

    /// Makes the next operation look for its way anew, unless that has happened.
    func forget(_ route: Route) {
        if self.route.load() === route { self.route.store(nil) }
    }

    private func unsteady() -> HabitStoreError {
        HabitStoreError(
            .busy,
            "the user was moved again and again while the operation looked for its store; try again",
            at: .init(path: directory.path)
        )
    }

    // MARK: Closing

    var isClosed: Bool { ended.load(ordering: .acquiring) }

    /// Closes the store, behind what the mirror is doing. Later operations throw ``HabitStoreError/Code/closed``.
    public func close() {
        // Behind an opening that is under way.
        let isFirst = routing.withLock { _ in !ended.exchange(true, ordering: .acquiringAndReleasing) }
        guard isFirst else { return }
        advancer.withLock { $0 = nil }
        if let route = route.present {
            if let mirror = route.mirror {
                _ = mirror.settle(waitSeconds: options.mirror.closingWaitSeconds)
                mirror.stop()
            }
            route.shadow?.drain(seconds: options.mirror.closingWaitSeconds)
            route.shadow?.flush()
            anchorEvidence()
        }
        route.store(nil)
        pair.close()
        pool.leave(self)
    }

    func startAdvancing() {
        guard options.advancesByItself else { return }
        let ticker = Ticker(everySeconds: options.advanceSeconds) { [weak self] in self?.advanceByItself() }
        advancer.withLock { $0 = ticker }
    }
}
