import Foundation
import Synchronization

/// The flags in force. Reading takes no lock and never waits; a new snapshot replaces the old one atomically.
///
/// A reader needs a moment between loading the snapshot and retaining it, and during this moment it must not be released. So readers count
/// themselves in and out, in one of two counters. Before the writer releases what it replaced, it sends new readers to the other counter and waits
/// until the first is empty, and then the same the other way round: a reader that was delayed between choosing its counter and counting
/// itself in may still be in either.
final class SnapshotReference: Sendable {
    private let current: Atomic<Unmanaged<FlagSnapshot>>
    private let phase = Atomic<Int>(0)
    private let evenReaders = Atomic<Int>(0)
    private let oddReaders = Atomic<Int>(0)
    /// Replaced snapshots that are not released yet; the lock serialises writers.
    private let retired = Mutex<[Unmanaged<FlagSnapshot>]>([])

    /// How long a writer waits for readers, in milliseconds. Snapshots not released by then are released with the next one.
    private static let waitMilliseconds = 1000

    init(_ snapshot: FlagSnapshot) {
        current = Atomic(Unmanaged.passRetained(snapshot))
    }

    deinit {
        current.load(ordering: .sequentiallyConsistent).release()
        for snapshot in retired.withLock({ $0 }) { snapshot.release() }
    }

    func load() -> FlagSnapshot {
        if phase.load(ordering: .relaxed) & 1 == 0 {
            evenReaders.add(1, ordering: .sequentiallyConsistent)
            let snapshot = Self.retained(current.load(ordering: .sequentiallyConsistent))
            evenReaders.subtract(1, ordering: .sequentiallyConsistent)
            return snapshot
        }
        oddReaders.add(1, ordering: .sequentiallyConsistent)
        let snapshot = Self.retained(current.load(ordering: .sequentiallyConsistent))
        oddReaders.subtract(1, ordering: .sequentiallyConsistent)
        return snapshot
    }

    func store(_ snapshot: FlagSnapshot) {
        retired.withLock { retired in
            let new = Unmanaged.passRetained(snapshot)
            retired.append(current.exchange(new, ordering: .sequentiallyConsistent))
            guard waitForReaders() else { return }
            for snapshot in retired { snapshot.release() }
            retired.removeAll()
        }
    }

    private func waitForReaders() -> Bool {
        for _ in 0..<2 {
            let old = phase.load(ordering: .sequentiallyConsistent) & 1
            phase.store(1 - old, ordering: .sequentiallyConsistent)
            var waited = 0
            while readers(old) != 0 {
                guard waited < Self.waitMilliseconds else { return false }
                usleep(1000)
                waited += 1
            }
        }
        return true
    }

    private func readers(_ phase: Int) -> Int {
        phase == 0
            ? evenReaders.load(ordering: .sequentiallyConsistent)
            : oddReaders.load(ordering: .sequentiallyConsistent)
    }

    /// Not inlined or optimized, so that the retain cannot move past the reader counting itself out.
    @inline(never) @_optimize(none)
    private static func retained(_ snapshot: Unmanaged<FlagSnapshot>) -> FlagSnapshot { snapshot.takeUnretainedValue() }
}
