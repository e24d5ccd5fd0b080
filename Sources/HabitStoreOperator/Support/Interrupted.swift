import Foundation
import Synchronization

/// A signal has asked the command to end, which closes its store and saves what it was to save first.
struct Interrupted: Error {
    private static let received = Atomic<Int32>(0)

    let signal: Int32

    /// From now on these signals are noted, once each: a second one ends the command at once. A signal that is ignored, as for a
    /// command behind `nohup`, stays so.
    static func beginNoting() {
        // Made here, and not in the middle of a signal.
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
        // The handler is the first member, whatever the system calls it, and 1 is the one that ignores.
        return withUnsafeBytes(of: &action) { $0.load(as: UInt.self) } == 1
    }

    /// - Throws: ``Interrupted`` when one was noted.
    static func check() throws {
        let number = received.load(ordering: .acquiring)
        if number != 0 { throw Interrupted(signal: number) }
    }

    /// Ends the command as the signal would have done, so that whoever has started it sees why.
    func end() -> Never {
        _ = Foundation.signal(signal, SIG_DFL)
        // Threads that run tasks leave signals to others.
        var these = sigset_t()
        sigemptyset(&these)
        sigaddset(&these, signal)
        pthread_sigmask(SIG_UNBLOCK, &these, nil)
        raise(signal)
        Foundation.exit(128 + signal)
    }
}
