import DurableFiles

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The location of a file, independent of its folder's path: two files at one place share a lock file.
struct LMDBFilePlace: Hashable, Sendable {
    private let folder: LMDBFileIdentity
    /// The bytes of the file's name: two names that are equal as Swift text may be different files.
    private let name: [UInt8]

    /// - Parameter path: a path whose last component is not a symbolic link.
    init(path: String) throws {
        var status = stat()
        guard stat(DurableFile.folder(of: path), &status) == 0 else {
            throw LMDBError.error(errno, during: "finding the file", path: path)
        }
        folder = LMDBFileIdentity(status)
        let bytes = path.utf8
        let slash = bytes.lastIndex(of: UInt8(ascii: "/"))
        name = Array(slash.map { bytes[bytes.index(after: $0)...] } ?? bytes[...])
    }
}
