import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// Why an opening could not open one of a user's files, and the command that helps.
///
/// Opens nothing: closing a store's file would give up this process's locks on it, and a pipe might wait. The system answers for this account, so root
/// sees no missing permission.
struct OpeningObstacle {
    let path: String
    let reason: String
    let remedy: String

    /// The obstacle at the path of a lock file, which is opened for writing through links, and made if it is missing.
    init?(lock path: String) {
        var status = stat()
        if stat(path, &status) == 0 {
            self.init(path, status, isLock: true)
        } else if errno != ENOENT {
            self.init(inTheWay: path, errno)
        } else {
            // A link to a file that is not there yet, in a folder that is.
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { return nil }
            let folder = URL(fileURLWithPath: target, relativeTo: URL(fileURLWithPath: path))
                .deletingLastPathComponent()
            guard stat(folder.path, &status) != 0 else { return nil }
            self.init(inTheWay: path, errno)
        }
    }

    /// The obstacle at the path of a file that is opened for writing, and not through a link; nil for a missing one too.
    init?(file path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            guard errno != ENOENT else { return nil }
            self.init(inTheWay: path, errno)
            return
        }
        self.init(path, status, isLock: false)
    }

    /// The obstacle to working in a user's folder.
    init?(folder path: String) {
        guard access(path, R_OK | W_OK | X_OK) != 0, errno != ENOENT else { return nil }
        self.init(denied: path, "u+rwx", errno)
    }

    private init?(_ path: String, _ status: stat, isLock: Bool) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR:
            self.init(inTheWay: path, EISDIR)
            return
        case S_IFSOCK:
            self.init(inTheWay: path, ENXIO)
            return
        case S_IFLNK:
            self.init(inTheWay: path, ELOOP)
            return
        default:
            // A pipe can be locked.
            guard isLock else {
                self.init(inTheWay: path, EINVAL)
                return
            }
        }
        guard access(path, R_OK | W_OK) != 0 else { return nil }
        self.init(denied: path, "u+rw", errno)
    }

    /// Something that is not the file.
    private init(inTheWay path: String, _ number: Int32) {
        self.path = path
        reason = String(cString: strerror(number))
        remedy = FileInTheWay.remedy(at: path)
    }

    /// The file, which this account may not read and write.
    private init(denied path: String, _ mode: String, _ number: Int32) {
        self.path = path
        reason = String(cString: strerror(number))
        var status = stat()
        let word = ShellWord.quoted(path)
        if number == EROFS {
            remedy = "make the disk writable"
        } else if stat(path, &status) == 0, status.st_uid != getuid() {
            remedy = "run as the account \(status.st_uid), which owns it, or as root: `chown \(getuid()) \(word)`"
        } else {
            remedy = "`chmod \(mode) \(word)`"
        }
    }
}

extension UserDirectory {
    /// What keeps this account from opening the user's files.
    ///
    /// - Parameter engines: the engines whose stores are opened, if they are there.
    func obstacles(_ engines: Engines) -> [OpeningObstacle] {
        if let obstacle = OpeningObstacle(folder: path) { return [obstacle] }
        let locks = [SwitchLock.fileName, CopyLock.fileName] + TemporaryCopies.kinds.map(\.lock)
        var found = locks.compactMap { OpeningObstacle(lock: path + "/" + $0) }
        found += [OpeningObstacle(file: path + "/control")].compactMap { $0 }
        for engine in engines.names {
            let address = engines.address(engine, of: self)
            guard let provider = try? engines.provider(engine) as? any FileEngineProvider,
                StoreIdentity(path: address.path) != nil
            else { continue }
            found += provider.sidecars.compactMap { OpeningObstacle(file: address.path + $0) }
            // The store itself may be a link.
            found += [OpeningObstacle(lock: address.path)].compactMap { $0 }
        }
        return found
    }
}
