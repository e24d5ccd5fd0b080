import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import Hashing

/// The folder of a user's stores under the root. No user id can name a folder outside of it, or another user's.
///
/// A name is the id in lower-case hexadecimal digits of its UTF-8 bytes, `u-616c696365` for `alice`: nothing in it means
/// anything to a file system, and names differ whenever ids do, on file systems that ignore case or Unicode form too.
/// An id of more than 100 bytes is named by its first 64 bytes in this form and 128 bits of XXH64 over all of it, so
/// that the name fits into the 255 bytes that file systems give; the file `user` in the folder holds the id itself, and
/// a folder whose `user` is another one is refused.
public struct UserDirectory: Sendable, Hashable {
    /// How long an id may be, in UTF-8 bytes.
    public static let maximumBytes = 65_536
    private static let plainBytes = 100
    private static let plainPrefix = "u-"
    private static let digestPrefix = "h-"
    private static let prefixBytes = 64
    private static let usersName = "users"

    /// The user's id.
    public let user: String
    /// The folder.
    public let path: String
    /// Which one of the user's stores is there; nil for the one without a name.
    let store: StoreName?
    /// The folder of all users' folders, and the name of this one in it.
    private let folder: String
    let name: String

    /// The folder of a user; it is not made yet.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an empty id or one that is too long.
    public init(root: String, user: String) throws {
        try self.init(folder: Self.folder(root: root), user: user)
    }

    /// - Parameters:
    ///   - folder: what ``folder(root:)`` gives.
    ///   - store: which one of the user's stores is there.
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

    /// What the user's stores are marked with: 128 bits of XXH64 over the id, after the store's name and a zero where it has one, in
    /// hexadecimal digits.
    var owner: String { Self.digest((store.map { Array($0.text.utf8) + [0] } ?? []) + Array(user.utf8)).hexadecimal }

    /// The root that the folder is under.
    var root: String { DurableFile.folder(of: folder) }

    /// The user's folder in a root of copies.
    func inRoot(_ root: String) throws -> UserDirectory {
        try UserDirectory(folder: Self.folder(root: root), user: user, store: store)
    }

    /// The machine that has the folder.
    var machine: Machine {
        get throws { try Machine.having(folder) }
    }

    /// Has the folder belong to the machine that another one belongs to, of which it has copies.
    func takeMachine(of original: UserDirectory) throws { try Machine.copy(from: original.folder, to: folder) }

    /// Whether a machine is not the one that has the folder. Where that cannot be told it is another one.
    func isElsewhere(_ machine: Machine) -> Bool { (try? Machine(having: folder))?.number != machine.number }

    /// The folder of all users' folders.
    static func folder(root: String) -> String {
        URL(fileURLWithPath: root, isDirectory: true).appendingPathComponent(usersName).path
    }

    /// Whether a path leads into a user's folder, by the names of the folders alone: there need not be anything yet.
    package static func isParent(ofFileAt path: String) -> Bool {
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        let folder = file.deletingLastPathComponent().resolvingSymlinksInPath()
        let name = folder.lastPathComponent
        return folder.deletingLastPathComponent().lastPathComponent == usersName
            && (plainUser(name) != nil || name.hasPrefix(digestPrefix) && writtenUser(folder.path) != nil)
    }

    /// Everybody who has a folder under a root.
    ///
    /// A short id is read from the folder's name, so that a lost file `user` hides nobody. What is named as no user's folder
    /// ever is, is passed over.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` when the root cannot be read.
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
        for name in names.sorted() where name.hasPrefix(plainPrefix) || name.hasPrefix(digestPrefix) {
            let path = folder + "/" + name
            guard let user = plainUser(name) ?? writtenUser(path) else {
                unknown.append(
                    HabitStoreError(
                        .notFound,
                        "nobody can tell whose folder this is: its file \"user\" is missing or cannot be read; put it back, "
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
                        "the folder's name is not that of the user whom its file \"user\" names; give it the right one, or move "
                            + "it elsewhere",
                        at: .init(path: path)
                    )
                )
                continue
            }
            users.append(user)
        }
        return UserListing(users: users.sorted(), unknown: unknown)
    }

    /// The id that a folder's name spells out; nil when the name is too long for that, or spells none.
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

    /// The id that the file in a folder holds.
    private static func writtenUser(_ path: String) -> String? {
        guard let size = try? FileManager.default.attributesOfItem(atPath: path + "/user")[.size] as? Int,
            (1...maximumBytes).contains(size), let id = FileManager.default.contents(atPath: path + "/user")
        else { return nil }
        return String(validating: id, as: UTF8.self)
    }

    /// Makes the folder, for its owner only.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` when it cannot be made, and what ``requireOwn()`` throws.
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

    /// Makes sure that nobody else can put something into the user's folder, or another folder into its place.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` when the folder, or that of all users, is a link, belongs to
    ///   somebody else, or may be written by others.
    func requireOwn() throws {
        let users = try PrivateFolder.open(folder)
        defer { close(users) }
        close(try PrivateFolder.open(path, in: (users, name)))
    }

    /// Writes down whose folder it is, or makes sure of it.
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
                "a folder stands in the place of the file \"user\": remove it",
                at: .init(path: path)
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

    /// What a folder's file `user` says.
    enum Label: Equatable {
        /// That the folder is this user's.
        case own
        /// That it is somebody else's.
        case another
        /// There is none.
        case missing
        /// Nothing.
        case empty
        /// It is not a file: a pipe, a device.
        case special
        /// It is a folder.
        case folder
        /// It cannot be read, by the system's number for the reason.
        case unreadable(Int32)
    }

    /// What the folder says of whose it is. Nobody is waited for.
    var label: Label {
        let descriptor = open(path + "/user", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            return errno == ENOENT ? .missing : errno == ENXIO ? .special : .unreadable(errno)
        }
        defer { close(descriptor) }
        let user = Array(user.utf8)
        // One byte more, so that a longer name is another one.
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
                // A file gives less than was asked for at its end only.
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
