#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Handles the signal for mapped memory whose file has become shorter.
///
/// LMDB's file, its lock and SQLite's shared memory are mapped. If another program truncates one of them, the memory goes away, and no earlier check
/// of the size can rule that out.
enum MappedFileFault {
    /// The message, allocated before any signal and never freed, because a signal handler cannot allocate.
    nonisolated(unsafe) private static var line = UnsafeBufferPointer<UInt8>(start: nil, count: 0)

    /// Makes the signal end the command with one line and exit code 74, instead of a dump of registers and memory.
    static func endInOneLine() {
        let text =
            "\(Tool.name): error: a store's file was cut off by another program, or its disk failed, while it was read\n"
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
        _ = bytes.initialize(from: text.utf8)
        line = UnsafeBufferPointer(bytes)
        signal(SIGBUS) { _ in
            _ = write(STDERR_FILENO, MappedFileFault.line.baseAddress, MappedFileFault.line.count)
            _exit(74)
        }
    }
}
