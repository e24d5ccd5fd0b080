import Foundation

/// The results of a fetch: the current ones immediately, and new ones after every change to them, by this process or another, for as long as
/// the loop runs.
///
/// <!-- example: compiled only: the loop runs until its task is cancelled -->
/// ```swift
/// for try await change in store.results(of: FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.name)])) {
///     list.show(change.records, change.difference)
/// }
/// ```
///
/// Each loop is a separate consumer. A consumer that is busy misses intermediate results and gets the newest one, with the difference to the
/// one it had. The loop ends when its task is cancelled, or with an error; closing the store is one (``HabitStoreError/Code/closed``).
public struct LiveResults<Element: Sendable>: AsyncSequence, Sendable {
    let store: any HabitStore
    let subject: @Sendable () throws -> LiveSubject<Element>

    /// Begins to follow the fetch, with the first call of its `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// One consumer's answers.
    public struct Iterator: AsyncIteratorProtocol {
        private let results: LiveResults
        private var following: Following?

        init(_ results: LiveResults) { self.results = results }

        /// The next answer; nil once the task was cancelled.
        ///
        /// - Throws: what is wrong with the fetch, or with the store, for longer than ten seconds where it may pass.
        public mutating func next() async throws -> ResultsChange<Element>? {
            let following = try following ?? Following(results)
            self.following = following
            return try await following.query.next()
        }
    }

    /// Lets the store go with the iterator.
    private final class Following: Sendable {
        let query: LiveFetch<Element>
        private let queries: LiveQueries

        init(_ results: LiveResults) throws {
            query = LiveFetch(try results.subject())
            queries = results.store.liveQueries
            try queries.add(query, to: results.store)
        }

        deinit { queries.remove(query) }
    }
}

extension HabitStore {
    /// The records of a fetch, as the store changes.
    public func results<M: PersistentModel>(of descriptor: FetchDescriptor<M>) -> LiveResults<M> {
        LiveResults(store: self) {
            LiveSubject(
                prepare: { try $0.prepare(descriptor) },
                elements: nil,
                read: { try M.read(from: &$0) },
                isSame: ==
            )
        }
    }

    /// The identifiers of a fetch, as the store changes: contents by which the fetch neither finds nor orders do not matter, and
    /// are not kept.
    public func identifiers<M: PersistentModel>(of descriptor: FetchDescriptor<M>) -> LiveResults<UUID> {
        LiveResults(store: self) {
            LiveSubject(prepare: { try $0.prepare(descriptor) }, elements: [], read: { try $0.nextUUID() }, isSame: ==)
        }
    }

    /// Only the named attributes of the records of a fetch, as the store changes.
    public func results<M: PersistentModel>(
        of descriptor: FetchDescriptor<M>,
        _ properties: [PartialKeyPath<M>]
    ) throws -> LiveResults<Projection<M>> {
        // Key paths are not `Sendable`; what they name is.
        let attributes = try ProjectedAttributes(properties, schema: schema)
        return LiveResults(store: self) {
            LiveSubject(
                prepare: { try $0.prepare(descriptor) },
                elements: Set(attributes.positions),
                read: { try Projection(attributes, ofWhole: &$0) },
                isSame: { $0.hasSameValues(as: $1) }
            )
        }
    }

    /// How many records a fetch has, as the store changes.
    public func count<M: PersistentModel>(of descriptor: FetchDescriptor<M>) -> LiveCount {
        LiveCount(identifiers: identifiers(of: descriptor))
    }

    /// How a live query of a fetch follows the store.
    public func explainLive<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> LiveExplanation {
        try read { transaction in
            LiveExplanation(
                LivePlan(try transaction.prepare(descriptor).query, elements: nil, schema: schema),
                schema
            )
        }
    }
}

/// How many records a fetch has as the store changes.
public struct LiveCount: AsyncSequence, Sendable {
    /// A number of records, and when it was so.
    public struct Element: Sendable, Hashable {
        /// The moment.
        public let token: HistoryToken
        /// How many there are.
        public let count: Int
        /// Why there is a new result.
        public let cause: ResultsChangeCause
    }

    let identifiers: LiveResults<UUID>

    /// Begins to follow the fetch, with the first call of its `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(base: identifiers.makeAsyncIterator()) }

    /// One consumer's numbers.
    public struct Iterator: AsyncIteratorProtocol {
        var base: LiveResults<UUID>.Iterator
        private var last: Int?

        init(base: LiveResults<UUID>.Iterator) { self.base = base }

        /// The next number that is another one; nil once the task was cancelled.
        public mutating func next() async throws -> Element? {
            while let change = try await base.next() {
                let count = change.records.count
                guard count != last || change.cause != .changed else { continue }
                last = count
                return Element(token: change.token, count: count, cause: change.cause)
            }
            return nil
        }
    }
}

/// Why a live query has an answer to tell.
public enum ResultsChangeCause: String, Sendable, Codable {
    /// It is the first one.
    case first
    /// Records were written.
    case changed
    /// The changes in between cannot be known, since the history was pruned or the store was restored or migrated. The query was repeated.
    case requeried
}

/// An answer of a live query: what a fetch at the moment of ``token`` gives, and how it differs from the answer that the same
/// consumer got before.
public struct ResultsChange<Element: Sendable>: Sendable {
    /// The moment of the answer. It never falls, as long as the cause is not ``ResultsChangeCause/requeried``.
    public let token: HistoryToken
    /// The answer, in order.
    public let records: LiveRecords<Element>
    /// The difference to the previous result; in the first one, everything is inserted.
    public let difference: ResultsDifference
    /// Why there is an answer to tell.
    public let cause: ResultsChangeCause
}

extension ResultsChange {
    /// The records that are new in the answer, in order.
    public var inserted: [Element] { difference.insertions.map { records[$0] } }

    /// The records that have other contents than before, in order, wherever they stand.
    public var updated: [Element] { (difference.updates + difference.moves.map(\.to)).sorted().map { records[$0] } }

    /// Makes the answer that the consumer got before this one.
    public func apply(to earlier: inout [Element]) { difference.apply(to: &earlier, from: records) }
}

/// Turns one result of a live query into the next: positions to remove, positions to insert, and positions whose records changed.
///
/// For a list on the screen: first remove the rows at ``removals`` and at the moves' origins, all counted in the earlier result; then insert
/// rows at ``insertions`` and at the moves' destinations, all counted in the later one; then redraw those at ``updates``, counted in the later
/// one. A record that moved may have changed too, and is redrawn as well.
public struct ResultsDifference: Sendable, Equatable {
    /// A record that stands elsewhere among the others than before.
    public struct Move: Sendable, Hashable {
        /// Its place in the earlier answer.
        public let from: Int
        /// Its place in the later one.
        public let to: Int

        /// Makes a move.
        public init(from: Int, to: Int) { (self.from, self.to) = (from, to) }
    }

    /// The places, in the earlier answer, of records that are not in the later one; ascending.
    public internal(set) var removals: [Int] = []
    /// The places, in the later answer, of records that were not in the earlier one; ascending.
    public internal(set) var insertions: [Int] = []
    /// The records that stand elsewhere, by their places in the later answer, ascending.
    public internal(set) var moves: [Move] = []
    /// The places, in the later answer, of records that stand where they stood and have other contents; ascending.
    public internal(set) var updates: [Int] = []

    /// Makes a difference; the places have to be ascending.
    public init(removals: [Int] = [], insertions: [Int] = [], moves: [Move] = [], updates: [Int] = []) {
        (self.removals, self.insertions, self.moves, self.updates) = (removals, insertions, moves, updates)
    }

    /// Whether both answers are the same.
    public var isEmpty: Bool { removals.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty }

    /// Makes the earlier answer the later one.
    ///
    /// - Parameters:
    ///   - earlier: the answer that the difference begins from.
    ///   - later: where new contents are taken from, by their places.
    public func apply<Element>(to earlier: inout [Element], from later: some RandomAccessCollection<Element>) {
        func element(_ place: Int) -> Element { later[later.index(later.startIndex, offsetBy: place)] }
        let taken = Set(removals).union(moves.map(\.from))
        var kept = earlier.enumerated().lazy.filter { !taken.contains($0.offset) }.map(\.element).makeIterator()
        let put = Set(insertions).union(moves.map(\.to))
        var result: [Element] = []
        result.reserveCapacity(earlier.count - taken.count + put.count)
        let count = earlier.count - taken.count + put.count
        for place in 0..<count {
            if put.contains(place) {
                result.append(element(place))
            } else if let next = kept.next() {
                result.append(next)
            }
        }
        for place in updates where result.indices.contains(place) { result[place] = element(place) }
        earlier = result
    }
}

extension ResultsDifference {
    /// The difference of two answers of which nothing else is known; takes as long as both are long.
    init<Element>(
        from earlier: LiveRecords<Element>,
        to later: LiveRecords<Element>,
        isSame: (Element, Element) -> Bool
    ) {
        self.init()
        // As a first answer is.
        if earlier.isEmpty {
            insertions = Array(later.indices)
            return
        }
        var places: [UUID: Int] = Dictionary(minimumCapacity: earlier.count)
        earlier.enumerateIdentifiers { place, id in places[id] = place }
        var common: [(from: Int, to: Int, isSame: Bool)] = []
        var isLeft = Array(repeating: true, count: earlier.count)
        later.enumerateIdentifiers { place, id in
            guard let from = places[id] else { return insertions.append(place) }
            isLeft[from] = false
            common.append((from, place, isSame(earlier[from], later[place])))
        }
        removals = isLeft.indices.filter { isLeft[$0] }
        sort(common)
    }

    /// The difference of two answers in which all but some records are the same, in the same order; takes as long as those are
    /// many.
    ///
    /// - Parameter touched: for each of them, its keys in the earlier answer and in the later one; nil where it was in none.
    init<Element>(
        from earlier: LiveRecords<Element>,
        to later: LiveRecords<Element>,
        touched: some Sequence<(id: UUID, before: [Value]?, after: [Value]?)>,
        _ order: LiveOrder,
        isSame: (Element, Element) -> Bool
    ) {
        self.init()
        var stayed: [(from: Int, to: Int)] = []
        var (touchedBefore, touchedAfter): ([Int], [Int]) = ([], [])
        for (id, before, after) in touched {
            let from = before.map { earlier.place(of: id, $0, order) }
            let to = after.map { later.place(of: id, $0, order) }
            if let from { touchedBefore.append(from) }
            if let to { touchedAfter.append(to) }
            switch (from, to) {
            case (let from?, let to?): stayed.append((from, to))
            case (let from?, nil): removals.append(from)
            case (nil, let to?): insertions.append(to)
            case (nil, nil): break
            }
        }
        if LiveMutant.isPlanted(.removalsInLater) { removals = removals.map { $0 + insertions.count } }
        removals.sort()
        insertions.sort()
        // How many of the others stand before a record says whether it stands elsewhere among them.
        touchedBefore.sort()
        touchedAfter.sort()
        func others(before place: Int, _ touched: [Int]) -> Int {
            place - touched.partitioningIndex { $0 >= place }
        }
        var maybeInPlace: [(from: Int, to: Int, isSame: Bool)] = []
        for (from, to) in stayed.sorted(by: { $0.to < $1.to }) {
            if others(before: from, touchedBefore) == others(before: to, touchedAfter) {
                maybeInPlace.append((from, to, isSame(earlier[from], later[to])))
            } else {
                moves.append(Move(from: from, to: to))
            }
        }
        sort(maybeInPlace)
        moves.sort { $0.to < $1.to }
    }

    /// Tells which of the records that are in both answers stand elsewhere: as few as possible, by the longest run of places
    /// that rise in both.
    ///
    /// - Parameter common: by their places in the later answer, ascending.
    private mutating func sort(_ common: [(from: Int, to: Int, isSame: Bool)]) {
        // For each length, the record that ends the run of that length whose end is least; and each one's predecessor.
        var ends: [Int] = []
        var previous = Array(repeating: -1, count: common.count)
        for (number, record) in common.enumerated() {
            let low = ends.partitioningIndex { common[$0].from >= record.from }
            if low > 0 { previous[number] = ends[low - 1] }
            if low < ends.count { ends[low] = number } else { ends.append(number) }
        }
        var isInRun = Array(repeating: false, count: common.count)
        var number = ends.last ?? -1
        while number >= 0 {
            isInRun[number] = true
            number = previous[number]
        }
        for (number, record) in common.enumerated() {
            if !isInRun[number], !LiveMutant.isPlanted(.movesAreUpdates) {
                moves.append(Move(from: record.from, to: record.to))
            } else if !record.isSame {
                updates.append(record.to)
            }
        }
    }
}
