import Dispatch
import Foundation
import Synchronization

/// The live queries of a store. After a write they advance together, from one moment to a later one: one read transaction reads the new
/// history, and each query gets the changes that concern it.
///
/// They have no thread: each step runs on one of the store's own threads (``StoreDispatcher``).
public final class LiveQueries: Sendable {
    /// How many records were read for what.
    @_spi(Engines) public struct Statistics: Sendable, Hashable {
        /// How many times the queries advanced after a write.
        public var steps = 0
        /// How many changes of records the history contained.
        public var changes = 0
        /// How many of the changed records were read.
        public var recordsRead = 0
        /// How often a query was asked, or asked again.
        public var asked = 0
        /// How many answers were patched.
        public var patched = 0
        /// How many of those were compared with asked ones.
        public var compared = 0
        /// How many of those differed.
        public var different = 0
    }

    private struct State {
        var queries: [ObjectIdentifier: any LiveQuery] = [:]
        /// The queries that were not asked yet.
        var fresh: [any LiveQuery] = []
        /// Which changes concern the queries; nil if that has to be computed again.
        var routes: LiveRoutes?
        /// Raised whenever that is so.
        var routings = 0
        /// Listeners that want only the token.
        var listeners: [ObjectIdentifier: LiveListener] = [:]
        /// The store, as long as there are listeners.
        var store: (any HabitStore)?
        var observation: (any AnyObject & Sendable)?
        var ticker: Ticker?
        var isRunning = false
        var isDue = false
        /// Since when the store cannot be read, which may pass.
        var failingSince: ContinuousClock.Instant?
        var statistics = Statistics()

        mutating func forgetRoutes() {
            routes = nil
            routings += 1
        }

        /// - Returns: whether this is the first listener.
        mutating func begin(_ store: any HabitStore) -> Bool {
            defer { self.store = store }
            return self.store == nil
        }
    }

    /// How often the store is checked for changes without a signal.
    static let pollSeconds = 0.05
    /// After how many looks at its number a store is read whatever that is: some ten seconds.
    private static let looksPerRead = 200
    /// Every this many checks, once a second, the store's place and its last known transaction are verified.
    private static let looksPerCheck = 20
    /// How long the store is not looked at after a step that could as well have waited for the next write.
    private static let restSeconds = 0.002
    /// How long a store may be unreadable for reasons that pass, before the queries end.
    static let patienceSeconds = 10.0
    private let state = Mutex(State())
    /// Whether there are listeners; the only thing that a write asks.
    private let isHeard = Atomic<Bool>(false)
    /// How many writes have begun and are not over, also where they wait for one another; only those of which this hears.
    private let writes = Atomic<Int>(0)
    /// Only the step that is being taken uses it.
    let position = Mutex<HistoryPosition?>(nil)
    private let look = Mutex<(number: UInt64?, looks: Int)>((nil, 0))
    /// Whether the next step is to make sure of that.
    private let isCheckDue = Atomic<Bool>(false)
    private let patches = Atomic<Int>(0)
    private let comparedPatches = Atomic<Int>(1_000)
    /// Gets a description of a patched answer that differed from the query's.
    let report: @Sendable (String) -> Void
    private let answered: @Sendable (_ isPatched: Bool) -> Void

    /// For a store without listeners yet.
    ///
    /// - Parameters:
    ///   - report: gets one line, without the user's values, about a patched answer that differed from the query's. That query is then
    ///     repeated after every change.
    ///   - answered: gets each answer, and whether it was patched or the query was repeated.
    @_spi(Engines) public init(
        report: @escaping @Sendable (String) -> Void = { _ in },
        answered: @escaping @Sendable (_ isPatched: Bool) -> Void = { _ in }
    ) {
        self.report = report
        self.answered = answered
    }

    /// Compares one patched answer in so many with an asked one; 1,000 unless this was said.
    @_spi(Engines) public func compare(oneIn patches: Int) {
        comparedPatches.store(max(1, patches), ordering: .relaxed)
    }

    /// Whether to compare the patch that was just made.
    func comparesPatch() -> Bool {
        patches.add(1, ordering: .relaxed).newValue % comparedPatches.load(ordering: .relaxed) == 0
    }

    /// The counts so far.
    @_spi(Engines) public var statistics: Statistics { state.withLock { $0.statistics } }

    func count(_ change: (inout Statistics) -> Void) { state.withLock { change(&$0.statistics) } }

    /// A query was answered.
    func countAnswer(isPatched: Bool) {
        count { if isPatched { $0.patched += 1 } else { $0.asked += 1 } }
        answered(isPatched)
    }

    // MARK: Who listens

    /// - Throws: ``HabitStoreError/Code/limitExceeded`` when too few files can be opened for timers.
    func add(_ query: any LiveQuery, to store: any HabitStore) throws {
        try DispatchTimers.prepare()
        let isFirst = state.withLock { state in
            state.queries[ObjectIdentifier(query)] = query
            state.fresh.append(query)
            return state.begin(store)
        }
        begin(store, isFirst)
    }

    /// - Throws: as for a query.
    func add(_ listener: LiveListener, to store: any HabitStore) throws {
        try DispatchTimers.prepare()
        let isFirst = state.withLock { state in
            state.listeners[ObjectIdentifier(listener)] = listener
            return state.begin(store)
        }
        begin(store, isFirst)
    }

    /// Adds a query that advances only by ``step(_:)``.
    func addStill(_ query: any LiveQuery) {
        state.withLock { state in
            state.queries[ObjectIdentifier(query)] = query
            state.fresh.append(query)
        }
    }

    private func begin(_ store: any HabitStore, _ isFirst: Bool) {
        if isFirst {
            let observation = (store as? any LiveSource)?.observeChanges { [weak self] in self?.signal() }
            let ticker = Ticker(everySeconds: Self.pollSeconds) { [weak self] in self?.lookForChanges() }
            state.withLock { state in
                // Whoever was first may be gone already.
                if state.store != nil, state.ticker == nil { (state.ticker, state.observation) = (ticker, observation) }
            }
        }
        isHeard.store(true, ordering: .sequentiallyConsistent)
        signal()
    }

    func remove(_ listener: some AnyObject & Sendable) {
        // Let go of outside of the lock: each may be the last to hold something that comes back here.
        let released = state.withLock { state in
            if state.queries.removeValue(forKey: ObjectIdentifier(listener)) != nil { state.forgetRoutes() }
            state.listeners[ObjectIdentifier(listener)] = nil
            state.fresh.removeAll { $0 === listener }
            guard state.queries.isEmpty, state.listeners.isEmpty else { return Released() }
            defer { (state.ticker, state.observation, state.store) = (nil, nil, nil) }
            state.failingSince = nil
            isHeard.store(false, ordering: .sequentiallyConsistent)
            return Released(store: state.store, observation: state.observation, ticker: state.ticker)
        }
        withExtendedLifetime(released) {}
    }

    private struct Released: Sendable {
        var store: (any HabitStore)?
        var observation: (any AnyObject & Sendable)?
        var ticker: Ticker?
    }

    /// Looks for changes without a signal: by another object over the same file, by another process, or a file that replaced the one that is
    /// read.
    private func lookForChanges() {
        guard let store = state.withLock({ $0.store }) else { return }
        let source = store as? any LiveSource
        let number = source?.changeNumber
        let (isNew, isCheck) = look.withLock { last in
            defer { last = (number, last.looks + 1) }
            // A write that its process did not live to acknowledge raises no number.
            let isNew = number == nil || last.number != number || last.looks % Self.looksPerRead == 0
            return (isNew, last.looks % Self.looksPerCheck == 0)
        }
        if isCheck { isCheckDue.store(true, ordering: .relaxed) }
        if isNew || isCheck && source?.isOutOfPlace == true || state.withLock({ $0.failingSince != nil }) { signal() }
    }

    // MARK: Going on

    /// Something may have been written.
    @_spi(Engines) public func signal() {
        if isHeard.load(ordering: .relaxed) { start() }
    }

    /// Runs a write, and signals the listeners when it has ended.
    @inline(__always)
    package func follow<R>(_ write: () throws -> R) rethrows -> R {
        writes.add(1, ordering: .relaxed)
        defer {
            writes.subtract(1, ordering: .relaxed)
            signal()
        }
        return try write()
    }

    private func start() {
        let store = state.withLock { state -> (any HabitStore)? in
            guard let store = state.store else { return nil }
            state.isDue = true
            guard !state.isRunning else { return nil }
            state.isRunning = true
            return store
        }
        store?.dispatcher.detach { await self.run() }
    }

    private func run() async {
        while true {
            let store = state.withLock { state -> (any HabitStore)? in
                guard state.isDue, let store = state.store else {
                    state.isRunning = false
                    return nil
                }
                state.isDue = false
                return store
            }
            guard let store else { return }
            do {
                let mayRest = try await store.dispatcher.read {
                    try self.step(store, isCheck: self.isCheckDue.exchange(false, ordering: .relaxed))
                }
                state.withLock { $0.failingSince = nil }
                if mayRest { try await Task.sleep(for: .seconds(Self.restSeconds)) }
            } catch {
                failed(error, of: store)
            }
        }
    }

    /// Brings all queries to the store's current moment.
    ///
    /// - Parameter isCheck: whether to verify the store's place and its last known transaction even if nothing seems to have happened.
    /// - Returns: whether the next step can wait a little: the write concerned no query, writes arrive faster than they are followed, or more of
    ///   them are on their way. Larger steps cost a writer less.
    @discardableResult
    package func step(_ store: any HabitStore, isCheck: Bool = false) throws -> Bool {
        if isCheck { try (store as? any EngineBackedStore)?.requireInPlace() }
        let (fresh, listeners) = state.withLock { state in
            defer { state.fresh = [] }
            return (state.fresh, Array(state.listeners.values))
        }
        var step: LiveStep?
        do {
            try Self.read(store) { transaction in
                var taken = LiveStep(self, transaction)
                try taken.take(fresh, isCheck: isCheck)
                step = taken
            }
        } catch {
            // Whoever was not asked yet is so the next time.
            state.withLock { state in state.fresh += fresh.filter { state.queries[ObjectIdentifier($0)] != nil } }
            throw error
        }
        guard let step, let moment = step.moment else { return false }
        // Where the transaction failed in the end, the same is done again.
        position.withLock { $0 = moment }
        // Read before consumers get anything: a consumer that writes in response has not begun yet, and is followed immediately.
        let isBeingWritten = writes.load(ordering: .relaxed) > 0
        for query in step.told { query.publish() }
        for listener in listeners { listener.tell(step.token, isAnew: step.isReplaced) }
        let isUnheard = step.told.isEmpty && listeners.isEmpty
        return step.transactions > 1 || step.transactions == 1 && (isUnheard || isBeingWritten)
    }

    /// All queries, but for those that were not asked yet.
    func asked(but fresh: [any LiveQuery]) -> [any LiveQuery] {
        let isFresh = Set(fresh.map { ObjectIdentifier($0) })
        return state.withLock { state in state.queries.filter { !isFresh.contains($0.key) }.map(\.value) }
    }

    /// Which changes concern the queries that were asked already.
    func routes(but fresh: [any LiveQuery], _ schema: Schema) -> LiveRoutes {
        let (known, routings) = state.withLock { ($0.routes, $0.routings) }
        if let known { return known }
        let made = LiveRoutes(asked(but: fresh), schema)
        state.withLock { state in if state.routings == routings { state.routes = made } }
        return made
    }

    /// The queries are others, or are about something else.
    func forgetRoutes() { state.withLock { $0.forgetRoutes() } }

    /// Reads a store on a separate thread, and once more if it cannot be read for a moment.
    ///
    /// - Throws: also `CancellationError`.
    static func readPatiently<R: Sendable>(
        _ store: any HabitStore,
        _ body: @escaping @Sendable (any ReadTransaction) throws -> R
    ) async throws -> R {
        let start = ContinuousClock.now
        while true {
            do {
                return try await store.dispatcher.read {
                    var result: R?
                    try read(store) { result = try body($0) }
                    guard let result else { throw HabitStoreError(.internalInconsistency, "nothing was read") }
                    return result
                }
            } catch let error as HabitStoreError
                where mayPass(error, of: store) && ContinuousClock.now - start < .seconds(patienceSeconds)
            {
                try await Task.sleep(for: .seconds(pollSeconds))
            }
        }
    }

    private static func read(_ store: any HabitStore, _ body: (any ReadTransaction) throws -> Void) throws {
        if let source = store as? any LiveSource { return try source.readForLiveQueries(body) }
        try store.read(body)
    }

    /// A store that cannot be read for a while is asked again; for longer, or for good, it ends the queries.
    private func failed(_ error: any Error, of store: any HabitStore) {
        let now = ContinuousClock.now
        let isOver = state.withLock { state in
            let since = state.failingSince ?? now
            state.failingSince = since
            guard let error = error as? HabitStoreError, Self.mayPass(error, of: store) else { return true }
            return now - since > .seconds(Self.patienceSeconds)
        }
        guard isOver else { return }
        let (queries, listeners) = state.withLock { ($0.queries.values, $0.listeners.values) }
        for query in queries { end(query, error) }
        for listener in listeners {
            listener.end(error)
            remove(listener)
        }
    }

    func end(_ query: any LiveQuery, _ error: any Error) {
        query.end(error)
        remove(query)
    }

    /// Whether a store that cannot be read now may be readable later. An open store never changes its file; a user's store does.
    private static func mayPass(_ error: HabitStoreError, of store: any HabitStore) -> Bool {
        passing.contains(error.code) || store is any LiveSource && [.fileMoved, .notFound].contains(error.code)
    }

    private static let passing: Set<HabitStoreError.Code> = [
        .busy, .inputOutput, .full, .limitExceeded, .notAuthoritative, .outcomeUnknown, .engineUnavailable,
        .permissionDenied,
    ]
}

extension LiveQueries {
    private struct Weak {
        weak var queries: LiveQueries?
    }

    /// The queries of stores that keep none themselves, by the stores' addresses.
    private static let others = Mutex<[ObjectIdentifier: Weak]>([:])

    /// The live queries of a store that keeps none itself; they find writes by checking for them.
    static func of(_ store: any HabitStore) -> LiveQueries {
        others.withLock { others in
            others = others.filter { $0.value.queries != nil }
            if let known = others[ObjectIdentifier(store)]?.queries { return known }
            let queries = LiveQueries()
            others[ObjectIdentifier(store)] = Weak(queries: queries)
            return queries
        }
    }
}

extension HabitStore {
    /// Live queries that hear of what is written when they look for it.
    public var liveQueries: LiveQueries { LiveQueries.of(self) }
}

/// A store that knows more of its changes than that it can be read: live queries use it.
package protocol LiveSource: HabitStore {
    /// Runs `body` over one moment, for live queries: nothing of it is compared or recorded.
    func readForLiveQueries(_ body: (any ReadTransaction) throws -> Void) throws

    /// A number that is another one after each change, in whatever process, told without reading the store; nil where only
    /// reading tells.
    var changeNumber: UInt64? { get }

    /// Whether what would be read is not what stands in the store's place any more. It opens nothing.
    var isOutOfPlace: Bool { get }

    /// Calls `wake` after changes, as soon as they can be known, until what this returns is let go of. It may be called for
    /// nothing, and is not relied on.
    func observeChanges(_ wake: @escaping @Sendable () -> Void) -> (any AnyObject & Sendable)?
}

/// Does something again and again, until it is let go.
///
/// `DispatchSourceTimer` may be used from any thread, and is not declared so.
package final class Ticker: @unchecked Sendable {
    private let timer: any DispatchSourceTimer

    package init(everySeconds seconds: Double, _ work: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
        timer.schedule(deadline: .now() + seconds, repeating: seconds)
        timer.setEventHandler(handler: work)
        timer.resume()
    }

    deinit { timer.cancel() }
}

/// What Dispatch needs for its first timer.
///
/// On Linux it opens three files then, and ends the process by a trap where the system gives it none: an app that had all its
/// files open died at the first retry of a mirror. So this is done where an error can still be thrown.
package enum DispatchTimers {
    private static let isReady = Mutex(false)
    /// More than it opens.
    private static let descriptors = 6
    private static let waitSeconds = 1.0

    /// Sets a first timer, if none was set so far.
    ///
    /// - Throws: ``HabitStoreError/Code/limitExceeded`` when too few files can be opened.
    package static func prepare() throws {
        try isReady.withLock { isReady in
            guard !isReady else { return }
            try requireDescriptors()
            let isDone = DispatchSemaphore(value: 0)
            DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .milliseconds(1)) { isDone.signal() }
            isReady = isDone.wait(timeout: .now() + waitSeconds) == .success
        }
    }

    private static func requireDescriptors() throws {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        for _ in 0..<descriptors {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw HabitStoreError(
                    .limitExceeded,
                    "too few files can be opened for timers (\(String(cString: strerror(errno)))); close some, or raise "
                        + "the limit with `ulimit -n`"
                )
            }
            opened.append(descriptor)
        }
    }
}
