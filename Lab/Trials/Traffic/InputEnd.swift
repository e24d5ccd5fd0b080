import Foundation
import Synchronization

/// Notices when standard input ends: the parent process is finished with this process, or dead.
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
