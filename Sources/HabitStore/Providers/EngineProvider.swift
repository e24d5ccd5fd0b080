import Foundation

/// A store as a rollout needs it: one that can be checked, copied, closed and brought up by another one's history.
public typealias UserStoreBackend = MaintainableStore & ReplicableStore

/// All that a rollout, a verifier and the command need of an engine. An app gives those it uses to whatever opens users'
/// stores, as ``Engines``; nothing else has to know them.
///
/// An engine over files is a `FileEngineProvider`, which has an answer to most of this.
public protocol EngineProvider: Sendable {
    /// What flag files, addresses and users' stores call it. Two providers of one kind may differ by it, as for two servers.
    @_spi(Engines) var name: EngineName { get }

    /// The resources that an open store takes in its process.
    @_spi(Engines) var cost: EngineCost { get }

    /// Whether other machines can reach the stores. If so, everything that has to be known about a user is kept in the store, and no lock on
    /// one machine keeps two movers apart.
    @_spi(Engines) var isShared: Bool { get }

    /// Where a user's store is, or would be: whatever the engine understands as a place.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - folder: the user's folder, for engines that keep their stores in files.
    @_spi(Engines) func place(ofUser user: String, inFolder folder: String) -> String

    /// Where a copy of a store is put for a while.
    ///
    /// - Parameters:
    ///   - name: tells the copies in a folder apart.
    ///   - folder: is theirs, for engines that keep their stores in files.
    ///   - place: where the store itself is.
    @_spi(Engines) func place(ofCopy name: String, inFolder folder: String, beside place: String) -> String

    /// The store at a place; nil if there is none.
    ///
    /// - Throws: why that is unknown: a store that cannot be asked is not a missing one.
    @_spi(Engines) func identity(at place: String) throws -> StoreIdentity?

    /// Whether a store that was opened is the one at its place still, as far as its own operations would not notice. It is asked
    /// by each operation, and must not wait for anything.
    ///
    /// - Parameter identity: that of the store when it was opened.
    @_spi(Engines) func holds(_ identity: StoreIdentity, at place: String) -> Bool

    /// Whether a file is of this engine.
    ///
    /// - Parameter head: its first bytes, 32 at most.
    @_spi(Engines) func recognizes(_ head: Data) -> Bool

    /// Opens a store.
    ///
    /// - Throws: a typed error for everything that can be wrong with the store, which is untouched then:
    ///   ``HabitStoreError/Code/notFound`` where there is none and `access` makes none.
    @_spi(Engines) func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend

    /// A store's outline, whatever its schema. Nothing is written.
    ///
    /// - Throws: the errors of opening, except those about the schema.
    @_spi(Engines) func outline(at place: String) throws -> StoreOutline

    /// Whether nothing speaks against writing to a store now: its disk, its owner, its mode. It must not open the store; who asks
    /// has just been refused.
    @_spi(Engines) func mayWrite(_ place: String) -> Bool

    /// Renames a closed store, next to its old name.
    ///
    /// - Parameter suffix: what to add to the name.
    /// - Returns: the store's new place.
    @_spi(Engines) func setAside(_ place: String, as suffix: String) throws -> String

    /// Copies a store without writers, with all its files.
    ///
    /// - Parameter target: an empty place.
    @_spi(Engines) func copy(_ place: String, to target: String) throws

    /// Removes a closed store, with all its files.
    @_spi(Engines) func remove(_ place: String) throws

    /// Bounds what all of the engine's stores in this process keep in memory; nothing, for an engine that keeps nothing.
    @_spi(Engines) func limitCaches(toBytes bytes: Int)
}

@_spi(Engines) extension EngineProvider {
    /// Stores are this machine's.
    public var isShared: Bool { false }

    /// A name in the folder.
    public func place(ofCopy name: String, inFolder folder: String, beside place: String) -> String {
        "\(folder)/\(name)"
    }

    /// Whether the same store is found at the place.
    public func holds(_ identity: StoreIdentity, at place: String) -> Bool {
        (try? self.identity(at: place)) == identity
    }

    /// Does nothing.
    public func limitCaches(toBytes bytes: Int) {}
}

/// The resources that an open store takes in its process.
@_spi(Engines) public struct EngineCost: Sendable, Hashable {
    /// How many file descriptors a store at rest has open, at most.
    public var fileDescriptors: Int
    /// How much address space it takes, in bytes; it is neither memory nor disk.
    public var addressSpaceBytes: Int

    /// Names the cost.
    public init(fileDescriptors: Int, addressSpaceBytes: Int = 0) {
        (self.fileDescriptors, self.addressSpaceBytes) = (fileDescriptors, addressSpaceBytes)
    }
}

/// The name of an engine, as flag files, addresses and users' stores have it: `sqlite`, `lmdb`, or whatever an engine calls
/// itself.
///
/// A name is 1 to 32 bytes of lower-case letters, digits and hyphens, and begins with a letter: it stands in file names, in
/// front of the colon of an address, and in metrics.
public struct EngineName: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The name.
    public let rawValue: String

    /// A name; nil for a text that can be none.
    public init?(rawValue: String) {
        let bytes = rawValue.utf8
        guard (1...32).contains(bytes.count), let first = bytes.first, Self.isLetter(first),
            bytes.allSatisfy({ Self.isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") })
        else { return nil }
        self.rawValue = rawValue
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    /// The name.
    public var description: String { rawValue }
}

extension EngineName: ExpressibleByStringLiteral {
    /// A name that stands in a program; one that can be none is the program's mistake.
    public init(stringLiteral text: StaticString) {
        guard let name = Self(rawValue: text.description) else {
            preconditionFailure(
                "\(text) is not a valid engine name: use 1 to 32 of a-z, 0-9 and -, with a letter first"
            )
        }
        self = name
    }
}

/// Where a store is and which engine it needs: `sqlite:PATH`, `lmdb:PATH`, or what another engine calls a place.
public struct StoreAddress: Sendable, Hashable, CustomStringConvertible {
    /// The engine.
    public let engine: EngineName
    /// The file; or what an engine that keeps no files has in its place.
    public let path: String

    /// Names a store.
    public init(_ engine: EngineName, path: String) {
        self.engine = engine
        self.path = path
    }

    /// `ENGINE:PATH`.
    public var description: String { "\(engine.rawValue):\(path)" }

    /// The first bytes of a file, which identify its engine.
    static func head(ofFileAt path: String) throws -> Data {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw HabitStoreError(.notFound, "there is no store here", at: .init(path: path))
        }
        guard !isDirectory.boolValue else {
            throw HabitStoreError(.notAStore, "this is a folder; name the store's file in it", at: .init(path: path))
        }
        // Reading from a pipe would wait for ever.
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw HabitStoreError(.notAStore, "this is a device or a pipe; name a file", at: .init(path: path))
        }
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw HabitStoreError(.permissionDenied, "the file cannot be read", at: .init(path: path))
        }
        defer { try? file.close() }
        do {
            return try file.read(upToCount: 32) ?? Data()
        } catch {
            throw HabitStoreError(.inputOutput, "the file cannot be read", at: .init(path: path), underlying: error)
        }
    }
}

/// What makes two looks at a place see the same store: for a file the device and the inode, for others what their engine
/// has in its place.
@_spi(Engines) public struct StoreIdentity: Sendable, Hashable {
    private let first: UInt64
    private let second: UInt64

    /// An identity of an engine's own; no two stores at one place have the same.
    public init(_ first: UInt64, _ second: UInt64 = 0) { (self.first, self.second) = (first, second) }

    /// The file at a path; nil where there is none.
    public init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(UInt64(truncatingIfNeeded: status.st_dev), UInt64(truncatingIfNeeded: status.st_ino))
    }
}
