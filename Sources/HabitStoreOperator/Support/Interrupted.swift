import Foundation
import Synchronization

/// A signal asked the command to end; it first closes its store and saves its work.
struct Interrupted: Error {
    private static let received = Atomic<Int32>(0)

    let signal: Int32

    /// Records these signals from now on; a second signal ends the command immediately. A signal that is ignored, as under `nohup`, stays ignored.
    static func beginNoting() {
        // Initialize the variable here, not inside a signal handler.
        received.store(0, ordering: .releasing)
        for number in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(number) {
            _ = Foundation.signal(number) { number in
                _ = Foundation.signal(number, SIG_DFL)
                Interrupted.received.store(number, ordering: .releasing)
            }
        }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        // The handler is the first member, whatever the system calls it, and 1 is `SIG_IGN`.
        return withUnsafeBytes(of: &action) { $0.load(as: UInt.self) } == 1
    }

    /// - Throws: ``Interrupted`` if a signal was recorded.
    static func check() throws {
        let number = received.load(ordering: .acquiring)
        if number != 0 { throw Interrupted(signal: number) }
    }

    /// Ends the command as the signal would have done, so that the parent process sees why.
    func end() -> Never {
        _ = Foundation.signal(signal, SIG_DFL)
        // Swift's task threads block signals.
        var these = sigset_t()
        sigemptyset(&these)
        sigaddset(&these, signal)
        pthread_sigmask(SIG_UNBLOCK, &these, nil)
        raise(signal)
        Foundation.exit(128 + signal)
    }
}
