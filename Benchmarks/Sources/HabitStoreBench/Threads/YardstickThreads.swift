import CYardstick
import Foundation

/// The C program: an SQLite connection for each thread; one LMDB environment for all threads, with a reader each.
final class YardstickThreads: ThreadSide {
    /// Used only by its own thread.
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let engine: TableEngine
    /// By user and thread; the first handle of each user is that of thread 0.
    private let handles: [[Handle]]
    private let identifiers: [UInt8]
    private let spare: Spare

    /// Only read.
    private struct Spare: @unchecked Sendable {
        let entries: YardstickEntries
    }

    init(_ engine: TableEngine, _ paths: [String], threads: Int, _ data: BenchData) throws {
        self.engine = engine
        identifiers = data.shuffledBytes
        spare = Spare(entries: YardstickEntries(data.spare))
        handles = try paths.map { path in
            var opened: [Handle] = []
            for _ in 0..<threads {
                var pointer: OpaquePointer?
                let result =
                    switch (engine, opened.first) {
                    case (.sqlite, _): cy_sqlite_open(path, cy_by_identifier, &pointer)
                    case (_, let first?): cy_lmdb_share(first.pointer, &pointer)
                    case (_, nil): cy_lmdb_open(path, cy_by_identifier, &pointer)
                    }
                guard result == 0, let pointer else { throw BenchError("the yardstick failed with code \(result)") }
                opened.append(Handle(pointer: pointer))
            }
            return opened
        }
    }

    func read(_ index: Int, user: Int, thread: Int) throws -> UInt64 {
        var sum: UInt64 = 0
        let handle = handles[user][thread].pointer
        let result = identifiers.withUnsafeBufferPointer { bytes -> Int32 in
            guard let base = bytes.baseAddress else { return -1 }
            let id = base + 16 * (index % (bytes.count / 16))
            return engine == .sqlite ? cy_sqlite_read(handle, id, &sum) : cy_lmdb_read(handle, id, &sum)
        }
        guard result == 0 else { throw BenchError("the yardstick failed with code \(result)") }
        return sum
    }

    func commit(_ number: Int, user: Int, thread: Int) throws {
        var entry = spare.entries.buffer[number]
        let handle = handles[user][thread].pointer
        let result =
            engine == .sqlite
            ? cy_sqlite_commit(handle, cy_with_history, &entry) : cy_lmdb_commit(handle, cy_with_history, &entry)
        guard result == 0 else { throw BenchError("the yardstick failed with code \(result)") }
    }

    func close() {
        for handle in handles.joined().reversed() {
            if engine == .sqlite { cy_sqlite_close(handle.pointer) } else { cy_lmdb_close(handle.pointer) }
        }
    }
}
