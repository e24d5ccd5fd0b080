import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import Hashing

/// The folder of a user's stores under the root. No user id can name a folder outside the root, or another user's.
///
/// The name is `u-` and the id's UTF-8 bytes in lower-case hexadecimal digits, `u-616c696365` for `alice`: it has no special meaning to a file
/// system, and names differ whenever ids do, even on file systems that ignore case or Unicode normalization. For an id of more than 100 bytes it is
/// `h-`, the first 64 bytes in this form and 128 bits of XXH64 over the whole id, so that it fits into the usual 255 bytes. The file `user` in the
/// folder contains the id, and a folder whose `user` contains another id is refused.
public struct UserDirectory: Sendable, Hashable {
    /// The longest id, in UTF-8 bytes.
    public static let maximumBytes = 65_536
    private static let plainBytes = 100
    private static let plainPrefix = "u-"
    private static let digestPrefix = "h-"
    private static let prefixBytes = 64
    private static let usersName = "users"

    /// The user's id.
    public let user: String
    /// The folder's path.
    public let path: String
    /// The name of the user's store in it; nil for the one without a name.
    let store: StoreName?
    /// The folder of all users' folders, and the name of this one in it.
    private let folder: String
    let name: String

    /// The folder of a user; creates nothing.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an empty id or one that is too long.
    public init(root: String, user: String) throws {
        try self.init(folder: Self.folder(root: root), user: user)
    }

    /// - Parameters:
    ///   - folder: the folder from ``folder(root:)``.
    ///   - store: the name of the user's store in it.
    init(folder: String, user: String, store: StoreName? = nil) throws {
        guard !user.isEmpty else {
            throw HabitStoreError(.invalidValue, "the user id is empty; name a user with --user")
        }
        let bytes = Array(user.utf8)
        guard bytes.count <= Self.maximumBytes else {
            throw HabitStoreError(
                .invalidValue,
                "the user id has \(bytes.count) bytes; \(Self.maximumBytes) are the most"
            )
        }
        let name =
            bytes.count <= Self.plainBytes
            ? Self.plainPrefix + bytes.hexadecimal
            : Self.digestPrefix + bytes.prefix(Self.prefixBytes).hexadecimal + "-"
                + Self.digest(bytes).hexadecimal
        (self.user, self.store) = (user, store)
        (self.folder, self.name) = (folder, name)
        path = folder + "/" + name
    }

    /// The text that marks the user's stores: 128 bits of XXH64 over the id, preceded by the store's name and a zero byte if it has a name, in
    /// hexadecimal digits.
    var owner: String { Self.digest((store.map { Array($0.text.utf8) + [0] } ?? []) + Array(user.utf8)).hexadecimal }

    var root: String { DurableFile.folder(of: folder) }

    /// The user's folder in a root of copies.
    func inRoot(_ root: String) throws -> UserDirectory {
        try UserDirectory(folder: Self.folder(root: root), user: user, store: store)
    }

    var machine: Machine {
        get throws { try Machine.having(folder) }
    }

    /// Makes this folder, which contains copies, belong to the machine of the original.
    func takeMachine(of original: UserDirectory) throws { try Machine.copy(from: original.folder, to: folder) }

    /// Whether a machine is another one than the folder's; true if unknown.
    func isElsewhere(_ machine: Machine) -> Bool { (try? Machine(having: folder))?.number != machine.number }

    /// The folder of all users' folders.
    static func folder(root: String) -> String {
        URL(fileURLWithPath: root, isDirectory: true).appendingPathComponent(usersName).path
    }

    /// Whether a path leads into a user's folder, judged by the names of the folders; nothing has to exist yet.
    package static func isParent(ofFileAt path: String) -> Bool {
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        let folder = file.deletingLastPathComponent().resolvingSymlinksInPath()
        let name = folder.lastPathComponent
        return folder.deletingLastPathComponent().lastPathComponent == usersName
            && (plainUser(name) != nil || name.hasPrefix(digestPrefix) && writtenUser(folder.path) != nil)
    }

    /// All users who have a folder under a root.
    ///
    /// A short id is read from the folder's name, so that a user is found even if the file `user` is lost. Folders with other names are ignored unless
    /// they have a user's files.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if the root cannot be read.
    static func all(root: String) throws -> UserListing {
        let folder = folder(root: root)
        guard FileManager.default.fileExists(atPath: folder) else { return UserListing(users: [], unknown: []) }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the folder of all users cannot be read",
                at: .init(path: folder),
                underlying: error
            )
        }
        var users: [String] = []
        var unknown: [HabitStoreError] = []
        for name in names.sorted() {
            let path = folder + "/" + name
            guard name.hasPrefix(plainPrefix) || name.hasPrefix(digestPrefix) else {
                if let error = renamed(path, name) { unknown.append(error) }
                continue
            }
            guard let user = plainUser(name) ?? writtenUser(path) else {
                unknown.append(
                    HabitStoreError(
                        .notFound,
                        "it is unknown whose folder this is: its file \"user\" is missing or cannot be read; put it back, "
                            + "or move the folder elsewhere",
                        at: .init(path: path)
                    )
                )
                continue
            }
            guard try UserDirectory(folder: folder, user: user).path == path else {
                unknown.append(
                    HabitStoreError(
                        .notAStore,
                        "the folder's name does not match the user in its file \"user\"; rename it, or move it "
                            + "elsewhere",
                        at: .init(path: path)
                    )
                )
                continue
            }
            users.append(user)
        }
        return UserListing(users: users.sorted(), unknown: unknown)
    }

    /// The error of a folder that has a user's files and not a user's name; nil for anything else, and for the rest of an erasure.
    private static func renamed(_ path: String, _ name: String) -> HabitStoreError? {
        guard !name.hasPrefix("."), ["user", "control"].contains(where: { BackupFiles.exists(path + "/" + $0) }) else {
            return nil
        }
        return HabitStoreError(
            .notAStore,
            "a folder with a user's files does not have a user's name, so no program finds the user; rename it back, or move it "
                + "elsewhere",
            at: .init(path: path)
        )
    }

    /// The id that a folder's name spells out; nil if there is none.
    private static func plainUser(_ name: String) -> String? {
        guard name.hasPrefix(plainPrefix) else { return nil }
        let digits = Array(name.utf8.dropFirst(plainPrefix.utf8.count))
        guard digits.count.isMultiple(of: 2), (1...plainBytes).contains(digits.count / 2) else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[place...place + 1], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The id in the file `user` of a folder.
    private static func writtenUser(_ path: String) -> String? {
        guard let size = try? FileManager.default.attributesOfItem(atPath: path + "/user")[.size] as? Int,
            (1...maximumBytes).contains(size), let id = FileManager.default.contents(atPath: path + "/user")
        else { return nil }
        return String(validating: id, as: UTF8.self)
    }

    /// Creates the folder, accessible to its owner only.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` if it cannot be created, and what ``requireOwn()`` throws.
    func make() throws {
        var status = stat()
        if lstat(path, &status) != 0 {
            try PrivateFolder.make(
                path,
                or: .permissionDenied,
                "the user's folder cannot be made; check the root's permissions and space"
            )
        }
        try requireOwn()
    }

    /// Makes sure that no other account can put something into the user's folder, or replace the folder.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` if the folder, or the one of all users, is a link, belongs to another account, or may be
    ///   written by others.
    func requireOwn() throws {
        let users = try PrivateFolder.open(folder)
        defer { close(users) }
        close(try PrivateFolder.open(path, in: (users, name)))
    }

    /// Writes the user's id into the folder, or checks it.
    func claim() throws {
        switch label {
        case .own: return
        case .another:
            let isPlain = name.hasPrefix(Self.plainPrefix)
            throw HabitStoreError(
                .unsupported,
                isPlain
                    ? "the file \"user\" in this folder names another user than the folder's name does: remove the file if it is "
                        + "damaged, or move the folder elsewhere if it is another user's"
                    : "this folder belongs to another user whose id has the same digest",
                at: .init(path: path)
            )
        case .folder:
            throw HabitStoreError(
                .unsupported,
                "a folder is where the file \"user\" should be; \(labelMove)",
                at: .init(path: path + "/user")
            )
        case .missing, .empty, .special, .unreadable: break
        }
        let file = path + "/user"
        do {
            try DurableFile.replace(file, Data(user.utf8), draft: DurableFile.ownDraft(of: file))
        } catch {
            throw HabitStoreError(
                .permissionDenied,
                "the user's folder cannot be written; check the root's permissions and space",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    /// The advice to move away what is in the place of the file `user`.
    var labelMove: String { FileInTheWay.remedy(at: path + "/user") }

    /// The contents of a folder's file `user`.
    enum Label: Equatable {
        /// This user's id.
        case own
        /// Another id.
        case another
        /// There is no file.
        case missing
        /// The file is empty.
        case empty
        /// It is a pipe or a device.
        case special
        /// It is a folder.
        case folder
        /// It cannot be read; the system's error number.
        case unreadable(Int32)
    }

    /// The contents of the file `user` in the folder. Never blocks.
    var label: Label {
        let descriptor = open(path + "/user", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            return errno == ENOENT ? .missing : errno == ENXIO ? .special : .unreadable(errno)
        }
        defer { close(descriptor) }
        let user = Array(user.utf8)
        // One more byte, to detect a longer id.
        return withUnsafeTemporaryAllocation(byteCount: user.count + 1, alignment: 1) { buffer in
            var count = 0
            var failure: Int32 = 0
            while count < buffer.count {
                let part = read(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
                if part < 0, errno == EINTR { continue }
                guard part >= 0 else {
                    failure = errno
                    break
                }
                count += part
                // Only the end of a file gives less than requested.
                if count < buffer.count { break }
            }
            if failure == 0, buffer[..<count].elementsEqual(user) { return .own }
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return .unreadable(errno) }
            switch status.st_mode & S_IFMT {
            case S_IFREG: return failure != 0 ? .unreadable(failure) : count == 0 ? .empty : .another
            case S_IFDIR: return .folder
            default: return .special
            }
        }
    }

    private static func digest(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { bytes in
            [0, 1].flatMap { seed in
                withUnsafeBytes(of: XXHash64.hash(bytes, seed: seed).bigEndian) { Array($0) }
            }
        }
    }
}

/// The users who have a folder under a root.
public struct UserListing: Sendable {
    /// The users' ids, sorted.
    public let users: [String]
    /// An error for each folder whose user is unknown. An operation on all users has left these out.
    public let unknown: [HabitStoreError]

    /// A list of the given users, whether or not they have folders.
    public init(users: [String]) { self.init(users: users, unknown: []) }

    init(users: [String], unknown: [HabitStoreError]) {
        self.users = users
        self.unknown = unknown
    }
}

/// A user id without stores under a root.
package struct NoSuchUser: Error {
    /// The id that was asked for.
    package let user: String
    /// The folder that the stores would be under.
    package let root: String

    /// The error that is thrown for it.
    var error: HabitStoreError {
        HabitStoreError(
            .notFound,
            "there is no such user: this user has no stores under the root",
            at: .init(path: root),
            detail: user,
            underlying: self
        )
    }

    /// The users with stores there; empty if the root cannot be read.
    package var others: [String] { (try? UserDirectory.all(root: root).users) ?? [] }
}

/// The name of one of several stores that each user has.
package struct StoreName: Sendable, Hashable {
    private static let mostBytes = 32
    /// The prefix of the flags of stores without a name.
    private static let taken = "habit"

    /// The name's text.
    package let text: String

    /// Checks a name: 1 to 32 of `a` to `z`, `0` to `9` and `-`, with a letter first and no `-` last. Folders, flags and, on servers, stores are
    /// named after it.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for any other name.
    package init(_ text: String) throws {
        let bytes = Array(text.utf8)
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let dash = UInt8(ascii: "-")
        guard (1...Self.mostBytes).contains(bytes.count), letters.contains(bytes[0]), bytes.last != dash,
            bytes.allSatisfy({ letters.contains($0) || digits.contains($0) || $0 == dash })
        else {
            throw HabitStoreError(
                .invalidValue,
                "a store cannot have this name; write 1 to \(Self.mostBytes) of a-z, 0-9 and -, with a letter first and no - last",
                detail: text
            )
        }
        guard text != Self.taken else {
            throw HabitStoreError(
                .invalidValue,
                "a store cannot have this name: its flags would be those of the stores without one; write another",
                detail: text
            )
        }
        self.text = text
    }
}

/// A user's id, compared by its bytes: Swift considers strings equal that differ only in Unicode normalization, but those are two users.
package struct UserKey: Hashable, Sendable {
    private let bytes: [UInt8]

    /// The key of an id.
    package init(_ user: String) { bytes = Array(user.utf8) }
}
