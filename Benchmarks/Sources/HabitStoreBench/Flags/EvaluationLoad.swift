import FeatureFlags
import Foundation
import Synchronization

/// Threads that evaluate flags without pause, as in a busy app: one for each core except one.
final class EvaluationLoad: Sendable {
    private let isStopped = Atomic<Bool>(false)

    static var threadCount: Int { max(1, ProcessInfo.processInfo.activeProcessorCount - 1) }

    init(_ provider: FlagProvider) {
        for _ in 0..<Self.threadCount {
            Thread.detachNewThread { [self] in
                while !isStopped.load(ordering: .relaxed) {
                    for key in FlagCases.targetedKeys {
                        _ = provider.resolve(key, context: FlagCases.context)
                    }
                }
            }
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }
}
