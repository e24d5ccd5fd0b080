#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The signal for memory whose file has become shorter than what is mapped of it.
///
/// LMDB's file, its lock and SQLite's shared memory are read by the memory they are mapped to. Another program that cuts one of
/// them off takes the memory away, and no look at a size beforehand can rule that out.
enum MappedFileFault {
    /// Has it end the command in one line and 74, without registers and memory on the terminal.
    static func endInOneLine() {
        signal(SIGBUS) { _ in
            let line: StaticString =
                "habitstore: error: a store's file was cut off by another program, or its disk failed, while it was read\n"
            _ = write(STDERR_FILENO, line.utf8Start, line.utf8CodeUnitCount)
            _exit(74)
        }
    }
}
