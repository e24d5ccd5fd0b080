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
    /// Refuses to write where the path no longer leads to the open file: a commit would go into a file without a name, and
    /// be lost with the process that was told it is durable.
    ///
    /// The inode of an open file is not given to another one, so the device and the inode tell. A file that another program has
    /// cut off is refused as well.
    ///
    /// - Parameter consequence: what the error says to whoever writes.
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

    /// Of so many reads one looks at the file's length: that is a call of the system, which takes as long as a short read.
    private static let readsPerLengthCheck = 64

    /// Refuses a read of a file that another program has cut off, if it is this read's turn to look; the gate is locked.
    ///
    /// The pages behind the file's end are gone from the map, and whoever touches one is ended by SIGBUS.
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
        // One that is refused is looked at again by the next read.
        try requireWhole(state.length, seen)
        readsSinceLengthCheck = 0
    }

    /// - Parameters:
    ///   - length: the file's length now.
    ///   - seen: the length that had been seen before it was asked for: another thread's write may make it longer at any time.
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
