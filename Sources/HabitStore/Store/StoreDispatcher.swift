import Dispatch
import Synchronization

/// The threads on which a store's async forms run: writes one after the other, reads beside each other up to a limit.
public final class StoreDispatcher: Sendable {
    /// How many reads run at once; more of them wait without a thread of their own.
    public static let concurrentReads = 4

    private let writes: DispatchQueue
    private let reads: [DispatchQueue]
    private let nextRead = Counter()

    /// Makes queues named after a store.
    public init(label: String) {
        writes = DispatchQueue(label: "HabitStore.\(label).write")
        reads = (0..<Self.concurrentReads).map { DispatchQueue(label: "HabitStore.\(label).read\($0)") }
    }

    /// Runs blocking work off the cooperative pool.
    ///
    /// - Throws: `CancellationError` when the task was cancelled before the work began; begun work is finished.
    package func run<R: Sendable>(writes isWrite: Bool, _ work: @escaping @Sendable () throws -> R) async throws -> R {
        try Task.checkCancellation()
        let queue = isWrite ? writes : reads[nextRead.next() % reads.count]
        let cancellation = CancellationMark()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.async {
                    let result = Result {
                        guard !cancellation.isSet else { throw CancellationError() }
                        return try work()
                    }
                    continuation.resume(with: result)
                }
            }
        } onCancel: {
            cancellation.set()
        }
    }
}

/// Tells work that waits in a queue that its task was cancelled meanwhile.
private final class CancellationMark: Sendable {
    private let mark = Atomic<Bool>(false)

    var isSet: Bool { mark.load(ordering: .acquiring) }

    func set() { mark.store(true, ordering: .releasing) }
}
