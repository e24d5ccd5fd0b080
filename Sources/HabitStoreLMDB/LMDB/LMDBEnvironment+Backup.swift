import CLMDB
import Foundation
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension LMDBEnvironment {
    /// Writes a consistent copy to a new file, durably, while others read and write.
    ///
    /// - Parameters:
    ///   - path: Where the copy goes. Something that is there is never overwritten.
    ///   - compact: Leave free pages out. Slower, and refused by liblmdb when pages of the file have leaked.
    func copy(to path: String, compact: Bool) throws {
        let descriptor = Self.createExclusively(path)
        guard descriptor >= 0 else { throw LMDBError.error(errno, during: "making the copy's file", path: path) }
        var isComplete = false
        defer { if !isComplete { unlink(path) } }
        do {
            defer { Self.close(descriptor: descriptor) }
            try core.copy(to: descriptor, compact: compact, for: self)
            guard fsync(descriptor) == 0 else { throw LMDBError.error(errno, during: "syncing the copy", path: path) }
        }
        try LMDBPlatform.synchronizeFolder(of: path)
        isComplete = true
    }

    // Inside this class `open` and `close` are the environment's own.
    private static func createExclusively(_ path: String) -> Int32 {
        let flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC
        #if canImport(Glibc)
        return Glibc.open(path, flags, 0o600)
        #elseif canImport(Musl)
        return Musl.open(path, flags, 0o600)
        #else
        return Darwin.open(path, flags, 0o600)
        #endif
    }

    private static func close(descriptor: Int32) {
        #if canImport(Glibc)
        _ = Glibc.close(descriptor)
        #elseif canImport(Musl)
        _ = Musl.close(descriptor)
        #else
        _ = Darwin.close(descriptor)
        #endif
    }
}
