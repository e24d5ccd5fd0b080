import CLMDB
import HabitStore
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension LMDBEnvironmentCore {
    /// Throws if the path no longer leads to the open file: a commit would go into a file without a name, and be lost when the
    /// process that it was acknowledged to ends.
    ///
    /// The inode of an open file is not reused, so the device and the inode identify it. Also throws if another program has
    /// truncated the file.
    ///
    /// - Parameter consequence: what the error adds for writers.
    func requireUnmoved(_ consequence: String = "nothing was written; ") throws {
        let seen = lengthSeen.load(ordering: .acquiring)
        var status = stat()
        if stat(path, &status) == 0 {
            if status.st_nlink > 0, LMDBFileIdentity(status) == identity {
                return try requireWhole(UInt64(clamping: status.st_size), seen)
            }
        } else if ![ENOENT, ENOTDIR, ELOOP].contains(errno) {
            throw LMDBError.error(errno, during: "finding the file", path: path)
        }
        throw LMDBError.error(
            .fileMoved,
            "the file was moved, deleted or replaced while it was open; \(consequence)close the store and open it again",
            path: path
        )
    }

    /// One in this many reads checks the file's length: that is a system call, which takes as long as a short read.
    private static let readsPerLengthCheck = 64

    /// Throws if another program has truncated the file. Only some of the reads check. The gate is locked.
    ///
    /// The pages after the end of the file are gone from the map, and touching one ends the process by SIGBUS.
    @inline(__always)
    func requireWholeNowAndThen() throws {
        readsSinceLengthCheck &+= 1
        if readsSinceLengthCheck >= Self.readsPerLengthCheck { try requireWholeNow() }
    }

    @inline(never)
    private func requireWholeNow() throws {
        let seen = lengthSeen.load(ordering: .acquiring)
        var descriptor: mdb_filehandle_t = -1
        guard let environment, mdb_env_get_fd(environment, &descriptor) == 0,
            let state = LMDBFileState(descriptor: descriptor)
        else { return }
        // After a failed check, the next read checks again.
        try requireWhole(state.length, seen)
        readsSinceLengthCheck = 0
    }

    /// - Parameters:
    ///   - length: the current length of the file.
    ///   - seen: the greatest length known before `length` was queried: another thread's write may extend the file at any time.
    private func requireWhole(_ length: UInt64, _ seen: UInt64) throws {
        lengthSeen.max(length, ordering: .releasing)
        guard length < seen else { return }
        throw LMDBError.error(
            .corrupt,
            "another program has cut the file off from \(seen) to \(length) bytes while it was open; restore it from a copy",
            path: path
        )
    }
}
