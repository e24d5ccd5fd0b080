import CSystemCalls
import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// An advisory lock on a separate file (`flock`), with one holder at a time across processes; the system releases it when its holder dies.
struct FileLock: ~Copyable, Sendable {
    private let file: LockedFile

    /// Waits for the lock.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` if it is held for longer than `timeoutSeconds`.
    init(path: String, timeoutSeconds: Double) throws {
        do {
            file = try LockedFile(path, timeoutSeconds: timeoutSeconds)
        } catch {
            throw Self.error(error, timeoutSeconds)
        }
    }

    private static func error(_ failure: FileFailure, _ timeoutSeconds: Double) -> HabitStoreError {
        let (code, message): (HabitStoreError.Code, String) =
            switch (failure.step, failure.number) {
            case (.lock, let number):
                (
                    number == EWOULDBLOCK ? .busy : .inputOutput,
                    "another process has been opening or switching this user's stores for \(timeoutSeconds) s"
                )
            case (_, ENOENT):
                (.notFound, "the user's folder is gone; close the store and open it again to start over")
            case (_, let number):
                (number == EACCES || number == EROFS ? .permissionDenied : .inputOutput, "the lock file \(failure)")
            }
        return HabitStoreError(code, message, at: .init(path: failure.path))
    }
}

/// The machine that a user belongs to during a rollout between a server store, which other machines reach, and a store in files, which only this
/// machine has.
///
/// It is identified by a number in the folder of all users' folders, and moves with that folder: a recreated container, or a disk in another
/// computer, is the same machine.
struct Machine: Sendable, Hashable {
    private static let fileName = "machine"
    private static let digits = 32

    /// The number, in hexadecimal digits.
    let number: String
    /// The host and the folder when a store last recorded them; for people.
    let place: String

    /// `NUMBER@HOST:FOLDER`, in printable ASCII.
    var text: String { "\(number)@\(place.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? "")" }

    init(parsing text: String) {
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        number = parts[0]
        place = parts.count > 1 ? parts[1].removingPercentEncoding ?? parts[1] : ""
    }

    private init(_ number: String, _ folder: String) {
        self.number = number
        place = "\(ProcessInfo.processInfo.hostName):\(folder)"
    }

    /// The machine of a folder of users' folders; nil if it has no number yet.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if its number cannot be read.
    init?(having folder: String) throws {
        let path = folder + "/" + Self.fileName
        do {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            let number = String(decoding: bytes.prefix(Self.digits), as: UTF8.self)
            guard number.utf8.count == Self.digits, number.allSatisfy(\.isHexDigit) else {
                throw HabitStoreError(
                    .corrupt,
                    "the machine's number is damaged; put the file back",
                    at: .init(path: path)
                )
            }
            self.init(number, folder)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return nil
        }
    }

    /// The machine of a folder of users' folders, which gets a number if it has none.
    ///
    /// - Throws: system errors.
    static func having(_ folder: String) throws -> Machine {
        if let known = try Machine(having: folder) { return known }
        let path = folder + "/" + fileName
        let lock = try FileLock(path: path + ".lock", timeoutSeconds: lockWaitSeconds)
        defer { withExtendedLifetime(lock) {} }
        if let known = try Machine(having: folder) { return known }
        let number = UUID().uuidString.replacing("-", with: "").lowercased()
        do {
            try DurableFile.replace(path, Data(number.utf8), draft: DurableFile.ownDraft(of: path))
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the machine's number cannot be written; check the root's permissions and space",
                at: .init(path: path),
                underlying: error
            )
        }
        return Machine(number, folder)
    }

    private static let lockWaitSeconds = 5.0

    /// Makes a folder of copies belong to the machine of the original; does nothing if the original has no number.
    static func copy(from folder: String, to copies: String) throws {
        guard let machine = try Machine(having: folder) else { return }
        let path = copies + "/" + fileName
        do {
            try DurableFile.replace(path, Data(machine.number.utf8), draft: DurableFile.ownDraft(of: path))
        } catch {
            throw HabitStoreError(.inputOutput, "a copy cannot be written", at: .init(path: path), underlying: error)
        }
    }
}

/// Shows that a process has a user open: a shared lock on the user's control file. The system releases it when the process dies, but not while it is
/// stopped.
struct UserPresence: ~Copyable, Sendable {
    private let file: OpenFile

    // A mapping of the file also keeps the lock after the file is closed.
    deinit { AdvisoryLock.release(file.descriptor) }

    /// Marks the user as open in this process, with the descriptor of the control file.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` while the user is being erased.
    static func enter(_ descriptor: Int32, _ path: String) throws {
        guard try take(.shared, descriptor, path) else {
            throw HabitStoreError(.busy, "the user is being erased", at: .init(path: path))
        }
    }

    /// Keeps the lock of ``enter(_:_:)``, whose descriptor belongs to `file`.
    init(entered file: consuming OpenFile) { self.file = file }

    /// Marks the user's files as in use, if there is a control file.
    ///
    /// - Returns: nil if there is none.
    init?(besideOthersAt path: String) throws {
        guard let file = try Self.open(path) else { return nil }
        try Self.enter(file.descriptor, path)
        self.file = file
    }

    /// Makes sure that no process has the user open, or opens the user meanwhile.
    ///
    /// - Returns: nil if a process has the user open.
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is no control file.
    init?(aloneAt path: String) throws {
        guard let file = try Self.open(path) else {
            throw HabitStoreError(.notFound, "there is no control file", at: .init(path: path))
        }
        guard try Self.take(.exclusive, file.descriptor, path) else { return nil }
        self.file = file
    }

    private static func open(_ path: String) throws -> OpenFile? {
        do {
            return try OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        } catch {
            if error.number == ENOENT { return nil }
            throw HabitStoreError(.inputOutput, "the control file \(error)", at: .init(path: path))
        }
    }

    private static func take(_ lock: AdvisoryLock, _ descriptor: Int32, _ path: String) throws -> Bool {
        do {
            return try lock.tryTake(descriptor, path: path)
        } catch {
            throw HabitStoreError(.inputOutput, "the control file \(error)", at: .init(path: path))
        }
    }
}

/// A page of cells shared between processes, mapped from a file as long as this object lives.
///
/// Other programs may truncate, remove or replace the file meanwhile. Truncated bytes read as zeros and do not crash the process.
final class MappedPage: Sendable {
    /// The size of the page and of the file.
    static let sizeBytes = 4_096

    typealias Cell = UnsafeMutablePointer<Atomic<UInt64>>

    // The cells are atomic, and mapped as long as this object lives.
    nonisolated(unsafe) let cells: Cell

    /// Maps the beginning of a file that has the size of a page.
    ///
    /// - Parameter isPrivate: whether changes stay in memory instead of reaching the file.
    /// - Throws: a ``Failure`` with the system error.
    init(_ descriptor: Int32, isPrivate: Bool) throws(Failure) {
        let mapped = mmap(
            nil,
            Self.sizeBytes,
            PROT_READ | PROT_WRITE,
            isPrivate ? MAP_PRIVATE : MAP_SHARED,
            descriptor,
            0
        )
        guard let mapped, mapped != MAP_FAILED else { throw Failure(what: "cannot be mapped", number: errno) }
        let code = habitstore_guard_page(mapped)
        guard code == 0 else {
            munmap(mapped, Self.sizeBytes)
            throw Failure(what: "cannot be guarded", number: code)
        }
        cells = mapped.bindMemory(to: Atomic<UInt64>.self, capacity: Self.sizeBytes / 8)
    }

    deinit {
        habitstore_unguard_page(cells)
        munmap(cells, Self.sizeBytes)
    }

    struct Failure: Error {
        let what: String
        let number: Int32
    }

    /// Gives a file the size of a page, and reserves its disk space now: on a full disk, a hole in a mapped file would crash the process.
    ///
    /// - Returns: 0, or the system's error number.
    static func allocate(_ descriptor: Int32) -> Int32 {
        #if canImport(Darwin)
        ftruncate(descriptor, off_t(sizeBytes)) == 0 ? 0 : errno
        #else
        posix_fallocate(descriptor, 0, off_t(sizeBytes))
        #endif
    }
}

/// A file with a secret, readable by its owner only.
package enum SecretFile {
    /// The bytes of the file, or `limit` and one more if it is longer. Does not block on a pipe.
    ///
    /// - Parameter name: what errors call the file.
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` for a file that others may read or write, or that another user owns; system errors.
    package static func bytes(_ path: String, _ name: String, limit: Int) throws -> Data {
        do {
            let file = try OpenFile(path, O_RDONLY | O_NONBLOCK)
            let status = try file.status()
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw HabitStoreError(.inputOutput, "\(name) is not a file", at: .init(path: path))
            }
            guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
                throw HabitStoreError(
                    .permissionDenied,
                    "\(name) is not for its owner alone: make it yours, and `chmod 600` it",
                    at: .init(path: path)
                )
            }
            return try file.contents(limit: limit + 1)
        } catch let failure as FileFailure {
            throw HabitStoreError.system(failure, name)
        }
    }
}
