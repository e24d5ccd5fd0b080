import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Permission bits do not apply to root. On Linux a thread can drop root's privileges over files and take them back.
enum SQLiteWrapperPrivileges {
    private typealias SetUser = @convention(c) (UInt32) -> Int32

    private static var setFileSystemUser: SetUser? {
        #if os(Linux)
        dlsym(nil, "setfsuid").map { unsafeBitCast($0, to: SetUser.self) }
        #else
        nil
        #endif
    }

    /// Whether permission bits can be made to apply in this process.
    static var canBeBound: Bool { geteuid() != 0 || setFileSystemUser != nil }

    /// Runs `body` on this thread as a user to whom permission bits apply.
    static func withoutRoot<T>(_ body: () throws -> T) rethrows -> T {
        guard geteuid() == 0, let setFileSystemUser else { return try body() }
        _ = setFileSystemUser(65_534)
        defer { _ = setFileSystemUser(0) }
        return try body()
    }
}
