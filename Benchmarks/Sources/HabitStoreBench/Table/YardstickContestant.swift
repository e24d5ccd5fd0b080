import CYardstick

/// The same work hand-written in C.
final class YardstickContestant: Contestant {
    let name = "C"
    private let functions: YardstickFunctions
    private let layout: cy_layout
    private let data: BenchData
    private let identifiers: [UInt8]
    private let ranges: [cy_range]
    private let entries: YardstickEntries
    private let spare: YardstickEntries
    private var handle: OpaquePointer?
    private var path = ""

    init(_ functions: YardstickFunctions, _ layout: EntryLayout, _ data: BenchData) {
        self.functions = functions
        self.layout = layout.byHand
        self.data = data
        (identifiers, ranges) = (data.shuffledBytes, data.cRanges)
        (entries, spare) = (YardstickEntries(data.entries), YardstickEntries(data.spare))
    }

    func load(_ path: String) throws { try load(path, cy_given) }

    /// Loads each table and index in its own order, as this package's stores write many entries.
    func loadSorted(_ path: String) throws { try load(path, cy_sorted) }

    private func load(_ path: String, _ order: cy_load_order) throws {
        let habits = data.habitBytes
        let all = entries.buffer
        try check(functions.load(path, layout, order, all.baseAddress, all.count, habits, data.habits.count))
    }

    func open(_ path: String) throws {
        self.path = path
        try check(functions.open(path, layout, &handle))
    }

    func close() {
        functions.close(handle)
        handle = nil
    }

    func perform(_ work: Work, _ number: Int) throws -> UInt64 {
        var sum: UInt64 = 0
        switch work {
        case .bulkLoad, .bulkLoadSorted:
            return UInt64(
                try list {
                    functions.scan(handle, &$0)
                } count: {
                    $0.count
                }
            )
        case .readsByIdentifier: try check(functions.readIdentifiers(handle, identifiers, data.shuffled.count, &sum))
        case .ranges: try check(functions.ranges(handle, ranges, ranges.count, &sum))
        case .scan:
            return try list {
                functions.scan(handle, &$0)
            } count: {
                cy_list_checksum(&$0)
            }
        case .filter:
            return try list {
                functions.contains(handle, BenchData.needle, &$0)
            } count: {
                cy_list_checksum(&$0)
            }
        case .count: try check(functions.count(handle, BenchData.countedAbove, &sum))
        case .commits: try commit(cy_entry_alone, number)
        case .commitsWithHistory: try commit(cy_with_history, number)
        case .openReadClose: try openReadClose(number, &sum)
        }
        return work.isReading ? sum : 1
    }

    private func list<R>(_ read: (inout cy_list) -> Int32, count: (inout cy_list) -> R) throws -> R {
        var list = cy_list()
        defer { cy_list_free(&list) }
        try check(read(&list))
        return count(&list)
    }

    private func commit(_ kind: cy_commit_kind, _ number: Int) throws {
        var entry = spare.buffer[number]
        try check(functions.commit(handle, kind, &entry))
    }

    private func openReadClose(_ number: Int, _ sum: inout UInt64) throws {
        var opened: OpaquePointer?
        try check(functions.open(path, layout, &opened))
        defer { functions.close(opened) }
        try identifiers.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            try check(functions.readIdentifiers(opened, base + 16 * number, 1, &sum))
        }
    }

    private func check(_ result: Int32) throws {
        guard result == 0 else { throw BenchError("the yardstick failed with code \(result)") }
    }
}

/// The yardstick's functions for one engine.
struct YardstickFunctions {
    let load:
        (
            UnsafePointer<CChar>?, cy_layout, cy_load_order, UnsafePointer<cy_entry>?, Int, UnsafePointer<UInt8>?, Int
        ) -> Int32
    let open: (UnsafePointer<CChar>?, cy_layout, UnsafeMutablePointer<OpaquePointer?>?) -> Int32
    let readIdentifiers: (OpaquePointer?, UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<UInt64>?) -> Int32
    let ranges: (OpaquePointer?, UnsafePointer<cy_range>?, Int, UnsafeMutablePointer<UInt64>?) -> Int32
    let scan: (OpaquePointer?, UnsafeMutablePointer<cy_list>?) -> Int32
    let contains: (OpaquePointer?, UnsafePointer<CChar>?, UnsafeMutablePointer<cy_list>?) -> Int32
    let count: (OpaquePointer?, Double, UnsafeMutablePointer<UInt64>?) -> Int32
    let commit: (OpaquePointer?, cy_commit_kind, UnsafePointer<cy_entry>?) -> Int32
    let close: (OpaquePointer?) -> Void

    static var sqlite: YardstickFunctions {
        YardstickFunctions(
            load: cy_sqlite_load,
            open: cy_sqlite_open,
            readIdentifiers: cy_sqlite_read_ids,
            ranges: cy_sqlite_ranges,
            scan: cy_sqlite_scan,
            contains: cy_sqlite_contains,
            count: cy_sqlite_count,
            commit: cy_sqlite_commit,
            close: cy_sqlite_close
        )
    }

    static var lmdb: YardstickFunctions {
        YardstickFunctions(
            load: cy_lmdb_load,
            open: cy_lmdb_open,
            readIdentifiers: cy_lmdb_read_ids,
            ranges: cy_lmdb_ranges,
            scan: cy_lmdb_scan,
            contains: cy_lmdb_contains,
            count: cy_lmdb_count,
            commit: cy_lmdb_commit,
            close: cy_lmdb_close
        )
    }
}
