import Foundation
import Synchronization

/// The flags in force. Reading takes no lock and never waits; a new snapshot takes the old one's place at once.
///
/// A reader needs a moment between finding the snapshot and retaining it, and in this moment it must not be released. So
/// readers count themselves in and out, in one of two counters, and the writer, before it releases what it replaced,
/// sends new readers to the other counter and waits until the first is empty, and then the same the other way round:
/// a reader that was held up between choosing its counter and counting itself in may still be in either.
final class SnapshotReference: Sendable {
    private let current: Atomic<Unmanaged<FlagSnapshot>>
    private let phase = Atomic<Int>(0)
    private let evenReaders = Atomic<Int>(0)
    private let oddReaders = Atomic<Int>(0)
    /// What was replaced and is not released yet; the lock keeps writers apart.
    private let retired = Mutex<[Unmanaged<FlagSnapshot>]>([])

    /// How long a writer waits for readers, in milliseconds. What is not released then is with the next snapshot.
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

    /// Not inlined and not optimized, so that the retaining cannot be moved behind the reader's counting itself out.
    @inline(never) @_optimize(none)
    private static func retained(_ snapshot: Unmanaged<FlagSnapshot>) -> FlagSnapshot { snapshot.takeUnretainedValue() }
}
