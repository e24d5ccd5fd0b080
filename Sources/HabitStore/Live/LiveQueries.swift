import Foundation
import Synchronization

/// The live queries of a store. All of them go on together, from one moment to a later one, when something was written: one read
/// transaction tells what the history holds since then, and each query is told what concerns it.
///
/// There is no thread of theirs: they go on, one step at a time, on a thread of the store's own (``StoreDispatcher``).
public final class LiveQueries: Sendable {
    /// How many records were read for what.
    @_spi(Engines) public struct Statistics: Sendable, Hashable {
        /// How often the queries went on because something was written.
        public var steps = 0
        /// How many changes of records the history told of.
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
        /// Which changes concern the others; nil where that has to be found out anew.
        var routes: LiveRoutes?
        /// Raised whenever that is so.
        var routings = 0
        /// Who is told of the token only.
        var listeners: [ObjectIdentifier: LiveListener] = [:]
        /// The store, as long as somebody listens.
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

        /// - Returns: whether nobody listened before.
        mutating func begin(_ store: any HabitStore) -> Bool {
            defer { self.store = store }
            return self.store == nil
        }
    }

    /// How often the store is looked at for what nobody tells of.
    static let lookSeconds = 0.05
    /// After how many looks at its number a store is read whatever that is: some ten seconds.
    private static let looksPerRead = 200
    /// After how many looks it is made sure that the store stands in its place, and that it has what was told: a second.
    private static let looksPerCheck = 20
    /// How long the store is not looked at after a step that could as well have waited for the next write.
    private static let restSeconds = 0.002
    /// How long a store may be unreadable for reasons that pass, before the queries end.
    static let patienceSeconds = 10.0
    private let state = Mutex(State())
    /// Whether anybody listens: whoever writes asks this, and nothing else.
    private let isHeard = Atomic<Bool>(false)
    /// How many writes have begun and are not over, also where they wait for one another; only those of which this hears.
    private let writes = Atomic<Int>(0)
    /// Only the step that is being taken uses it.
    let position = Mutex<HistoryMoment?>(nil)
    private let look = Mutex<(number: UInt64?, looks: Int)>((nil, 0))
    /// Whether the next step is to make sure of that.
    private let isCheckDue = Atomic<Bool>(false)
    private let patches = Atomic<Int>(0)
    private let comparedPatches = Atomic<Int>(1_000)
    /// Is told of a patched answer that differed from the asked one.
    let report: @Sendable (String) -> Void
    private let answered: @Sendable (_ isPatched: Bool) -> Void

    /// Of a store of which nobody asks to be told yet.
    ///
    /// - Parameters:
    ///   - report: is told, in a line without the user's values, of an answer that was patched and differed from the asked one. The
    ///     query is asked again after every change from then on.
    ///   - answered: is told of each answer, and whether it was patched; else the query was asked.
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

    /// Whether the patch that was just made is to be compared.
    func comparesPatch() -> Bool {
        patches.add(1, ordering: .relaxed).newValue % comparedPatches.load(ordering: .relaxed) == 0
    }

    /// What was done so far.
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

    /// Adds a query that goes on with ``step(_:)`` only.
    func addStill(_ query: any LiveQuery) {
        state.withLock { state in
            state.queries[ObjectIdentifier(query)] = query
            state.fresh.append(query)
        }
    }

    private func begin(_ store: any HabitStore, _ isFirst: Bool) {
        if isFirst {
            let observation = (store as? any LiveSource)?.observeChanges { [weak self] in self?.signal() }
            let ticker = Ticker(everySeconds: Self.lookSeconds) { [weak self] in self?.lookForChanges() }
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

    /// What no process tells of: another object over the same file, and another process; and a file that was put in the place of
    /// the one that is read.
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

    /// Runs a write, which whoever listens is told of when it is over.
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

    /// Brings all queries to the store's present moment.
    ///
    /// - Parameter isCheck: whether it is made sure that the store stands in its place, and that it has what was told, also where
    ///   nothing seems to have happened.
    /// - Returns: whether the next step can wait a little: what was written concerned nobody, or came faster than it was followed, or
    ///   more of it is on its way. It costs a writer less to be followed in larger steps.
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
        // Before anybody is told: whoever waits for the answer to write on has not begun yet, and is followed at once.
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

    /// Reads a store on a thread of its own, and once more where it cannot be read for a moment.
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
                try await Task.sleep(for: .seconds(lookSeconds))
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

    /// Whether a store that cannot be read now may be so later. A store that is open never comes to another file; a user's does.
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

    /// Those of stores that have none of their own, by the stores' addresses.
    private static let others = Mutex<[ObjectIdentifier: Weak]>([:])

    /// The live queries of a store that has none of its own; they hear of what is written when they look for it.
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
