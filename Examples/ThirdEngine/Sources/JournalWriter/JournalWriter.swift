import Foundation
import HabitStore
import HabitTracker
import JournalEngine

/// A process for the tests, which kill it: it writes drafts to a journal until a signal stops it or its disk is full.
///
/// For each draft it prints the outcome: `done ID`, `gone ID CODE` for a failed write, `open ID` for one of unknown outcome.
///
///     JournalWriter PATH [BYTES]
///
/// With a number of bytes, the system lets no file grow larger than that.
@main
enum JournalWriter {
    static func main() throws {
        let arguments = CommandLine.arguments
        if arguments.count > 2, let bytes = rlim_t(arguments[2]) {
            // So that the system reports it as an error instead of a signal.
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
            // A process that waits for the lock polls it: give the others a chance.
            usleep(2_000)
        }
        store.close()
    }
}
