import Foundation
import HabitStore
import HabitTracker
import JournalEngine

/// A process for the tests, which they kill: it writes drafts to a journal until it is told to stop by a signal, or its disk is full.
///
/// For each it prints what it was told: `done ID`, `gone ID CODE` for a write that is not there, `open ID` for one of unknown outcome.
///
///     JournalWriter PATH [BYTES]
///
/// With a number of bytes the system gives no file more than that.
@main
enum JournalWriter {
    static func main() throws {
        let arguments = CommandLine.arguments
        if arguments.count > 2, let bytes = rlim_t(arguments[2]) {
            // The system says so by an error, and not by a signal.
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: bytes, rlim_max: bytes)
            #if canImport(Glibc)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            #else
            setrlimit(RLIMIT_FSIZE, &limit)
            #endif
        }
        let store = try JournalStore(path: arguments[1], schema: HabitSchema.current, access: .create)
        var failures = 0
        while failures < 5 {
            let draft = Draft(content: String(repeating: "x", count: 1_000))
            let line: String
            do {
                try store.save(draft)
                line = "done \(draft.id)"
            } catch let error as HabitStoreError {
                failures += 1
                line = error.code == .outcomeUnknown ? "open \(draft.id)" : "gone \(draft.id) \(error.code)"
            }
            FileHandle.standardOutput.write(Data((line + "\n").utf8))
            // Who waits for the lock looks for it now and then: the others get their turn.
            usleep(2_000)
        }
        store.close()
    }
}
