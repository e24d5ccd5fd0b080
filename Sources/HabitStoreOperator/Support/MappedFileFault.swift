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
    /// What is said then. Written once, before there is a signal, and never freed: in the middle of one no text can be made.
    nonisolated(unsafe) private static var line = UnsafeBufferPointer<UInt8>(start: nil, count: 0)

    /// Has it end the command in one line and 74, without registers and memory on the terminal.
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
