import Foundation

/// The records that a live query holds, in its order: its window and a reserve, or all of them.
struct LiveAnswer<Element: Sendable>: Sendable {
    typealias Row = LiveRecords<Element>.Row

    /// How many records are kept after the window, so that a record leaving it does not repeat the query: as many as are in it, within
    /// these bounds.
    private static var reserve: ClosedRange<Int> { 4...32 }

    private(set) var records: LiveRecords<Element>
    /// Whether no record fulfils the filter that is not kept.
    private var isComplete: Bool
    /// The keys of each record; empty where the order is that of the identifiers, which finds them.
    private var keys: [UUID: [Value]] = [:]
    private let order: LiveOrder
    private let window: FetchWindow

    /// The window of a query whose answer will be patched.
    static func window(kept wanted: FetchWindow) -> FetchWindow {
        // Of a fetch that wants nothing, nothing is evaluated.
        guard !wanted.isEmpty else { return wanted }
        return FetchWindow(offset: 0, limit: wanted.end.map { $0 + reserve(of: $0) })
    }

    private static func reserve(of end: Int) -> Int {
        end > .max - reserve.upperBound ? 0 : min(max(reserve.lowerBound, end), reserve.upperBound)
    }

    /// - Parameter rows: the first of the order; all of them unless they are as many as were asked for.
    init(_ rows: [Row], _ order: LiveOrder, _ window: FetchWindow) {
        (self.order, self.window) = (order, window)
        records = LiveRecords(rows)
        isComplete = Self.window(kept: window).limit.map { rows.count < $0 } ?? true
        guard !order.kept.isEmpty else { return }
        keys.reserveCapacity(rows.count)
        for row in rows { keys[row.id] = row.keys }
    }

    /// Whether records of the window may be missing, so that the query has to be asked again.
    var isShort: Bool {
        guard !isComplete, !LiveMutant.isPlanted(.neverShort) else { return false }
        return window.end.map { records.count < $0 } ?? false
    }

    /// The part that is wanted.
    var wanted: LiveRecords<Element> {
        guard !window.isWhole else { return records }
        let places = records.indices.dropFirst(LiveMutant.isPlanted(.lostOffset) ? 0 : window.offset)
        return LiveRecords(places.prefix(window.limit ?? .max).lazy.map(records.row))
    }

    /// The keys under which a record is kept; nil where it is not.
    func keys(of id: UUID) -> [Value]? {
        guard order.kept.isEmpty else { return keys[id] }
        let place = place(id, [])
        return place < records.count && records.row(place).id == id ? [] : nil
    }

    /// Puts a record where it belongs, whether or not it was there.
    mutating func put(_ row: Row) {
        let before = keys(of: row.id)
        if let before, before == row.keys {
            return LiveMutant.isPlanted(.staleContents)
                ? () : records.replace(at: place(row.id, before), with: row.element)
        }
        if before != nil { remove(row.id) }
        let place = LiveMutant.isPlanted(.putLast) ? records.count : place(row.id, row.keys)
        // Behind the last one that is kept there may be others, before it.
        guard isComplete || place < records.count || LiveMutant.isPlanted(.alwaysComplete) else { return }
        records.insert(row, at: place)
        if !order.kept.isEmpty { keys[row.id] = row.keys }
        cut()
    }

    /// Takes a record away, if it is there.
    mutating func remove(_ id: UUID) {
        guard let before = keys(of: id) else { return }
        records.remove(at: place(id, before))
        keys[id] = nil
    }

    private func place(_ id: UUID, _ keys: [Value]) -> Int {
        records.place(of: id, keys, order)
    }

    /// Drops records that have moved far past the window.
    private mutating func cut() {
        guard let most = Self.window(kept: window).limit, records.count > most + Self.reserve.upperBound else { return }
        while records.count > most {
            let last = records.row(records.count - 1).id
            records.remove(at: records.count - 1)
            keys[last] = nil
        }
        isComplete = false
    }
}
