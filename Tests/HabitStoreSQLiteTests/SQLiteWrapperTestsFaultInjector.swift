#if os(Linux)
import CSQLite
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Makes SQLite's writes or reads of chosen files fail, through the table of system calls that its unix layer offers for tests
/// (https://www.sqlite.org/c3ref/vfs.html, xSetSystemCall). Other files of the process are not affected.
///
/// `@unchecked`: `faults` is guarded by `lock`; the two functions are set once.
final class SQLiteWrapperFaultInjector: @unchecked Sendable {
    /// The fault of a write or read of at least 512 bytes, which in a log is a page, not a header.
    enum Fault: Sendable {
        /// The bytes are written, and then an error is reported, as if a sync failed.
        case errorAfterWriting
        /// Nothing is written.
        case error
        /// Nothing is written, because the disk is full.
        case noSpace
        /// Writes succeed, and nothing can be read.
        case unreadable
    }

    static let shared = SQLiteWrapperFaultInjector()

    fileprivate typealias Write = @convention(c) (Int32, UnsafeRawPointer?, Int, Int) -> Int
    fileprivate typealias Read = @convention(c) (Int32, UnsafeMutableRawPointer?, Int, Int) -> Int

    private let lock = NSLock()
    private var faults: [String: Fault] = [:]
    fileprivate var write: Write?
    fileprivate var read: Read?

    private init() {
        guard let layer = sqlite3_vfs_find(nil) else { return }
        func replace(_ names: [String], _ injected: sqlite3_syscall_ptr) -> sqlite3_syscall_ptr? {
            for name in names {
                guard let call = layer.pointee.xGetSystemCall(layer, name) else { continue }
                return layer.pointee.xSetSystemCall(layer, name, injected) == SQLITE_OK ? call : nil
            }
            return nil
        }
        write = unsafeBitCast(
            replace(["pwrite64", "pwrite"], unsafeBitCast(injectedWrite, to: sqlite3_syscall_ptr.self)),
            to: Write?.self
        )
        read = unsafeBitCast(
            replace(["pread64", "pread"], unsafeBitCast(injectedRead, to: sqlite3_syscall_ptr.self)),
            to: Read?.self
        )
    }

    /// Whether the unix layer could be reached.
    var isInstalled: Bool { write != nil && read != nil }

    /// Lets writes to the file, or reads of it, fail while `body` runs; a path that ends in `*` matches all that start with it.
    func with<T>(_ fault: Fault, on path: String, _ body: () throws -> T) rethrows -> T {
        lock.withLock { faults[path] = fault }
        defer { lock.withLock { faults[path] = nil } }
        return try body()
    }

    fileprivate func fault(of descriptor: Int32) -> Fault? {
        lock.withLock {
            if faults.isEmpty { return nil }
            var name = [UInt8](repeating: 0, count: 1_024)
            let length = name.withUnsafeMutableBytes { buffer -> Int in
                guard let start = buffer.baseAddress else { return 0 }
                return readlink("/proc/self/fd/\(descriptor)", start.assumingMemoryBound(to: CChar.self), buffer.count)
            }
            let path = String(decoding: name.prefix(max(0, length)), as: UTF8.self)
            return faults.first { path == $0.key || $0.key.last == "*" && path.hasPrefix($0.key.dropLast()) }?.value
        }
    }
}

private let injectedWrite: SQLiteWrapperFaultInjector.Write = { descriptor, bytes, count, offset in
    let injector = SQLiteWrapperFaultInjector.shared
    guard let original = injector.write else {
        errno = EIO
        return -1
    }
    guard count >= 512, let fault = injector.fault(of: descriptor), fault != .unreadable else {
        return original(descriptor, bytes, count, offset)
    }
    if fault == .errorAfterWriting { _ = original(descriptor, bytes, count, offset) }
    errno = fault == .noSpace ? ENOSPC : EIO
    return -1
}

private let injectedRead: SQLiteWrapperFaultInjector.Read = { descriptor, bytes, count, offset in
    let injector = SQLiteWrapperFaultInjector.shared
    guard let original = injector.read, count < 512 || injector.fault(of: descriptor) != .unreadable else {
        errno = EIO
        return -1
    }
    return original(descriptor, bytes, count, offset)
}
#endif
