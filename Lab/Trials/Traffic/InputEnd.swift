import Foundation
import Synchronization

/// Knows when standard input has ended: whoever started this process is done with it, or dead.
final class InputEnd: Sendable {
    private let flag = Atomic<Bool>(false)

    var isReached: Bool { flag.load(ordering: .relaxed) }

    init() {
        Thread.detachNewThread { [self] in
            while readLine() != nil {}
            flag.store(true, ordering: .relaxed)
        }
    }
}
