import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import Hashing

/// The description of a user's backup, in its file `manifest.json`.
public struct BackupManifest: Sendable, Hashable, Codable {
    /// One of the user's stores in the backup.
    public struct Store: Sendable, Hashable, Codable {
        /// Its engine.
        public let engine: EngineName
        /// The name of its file in the backup's folder.
        public let file: String
        /// Its role.
        public let role: StoreRole
        /// Its epoch.
        public let epoch: Int
        /// Its token.
        public let token: HistoryToken
        /// The last token without history.
        public let historyFloor: HistoryToken
        /// The identity that all stores of the user share.
        public let lineage: UUID
        /// The version of its schema.
        public let schemaVersion: Schema.Version
    }

    /// One of the backup's files.
    public struct File: Sendable, Hashable, Codable {
        /// Its name in the backup's folder.
        public let name: String
        /// Its length.
        public let sizeBytes: Int
        /// The SHA-256 of its bytes, in hexadecimal digits.
        public let sha256: String
    }

    static let format = "habitstore-user-backup"
    static let currentVersion = 1

    /// `habitstore-user-backup`.
    public let format: String
    /// The version of the format.
    public let version: Int
    /// The user's id.
    public let user: String
    /// The name of the user's store; nil for the one without a name.
    public let store: String?
    /// When it was made.
    public let time: Date
    /// The user's stage.
    public let stage: Stage
    /// The epoch of the serving store.
    public let epoch: Int
    /// The token that a restore reaches.
    public let token: HistoryToken
    /// The identity that all stores of the user share.
    public let lineage: UUID
    /// The engine of the serving store.
    public let serving: EngineName
    /// The engine that the user comes from.
    public let old: EngineName
    /// The engine that the user moves to.
    public let new: EngineName
    /// Whether the user was killed, and not re-armed.
    public let isKilled: Bool
    /// The stores in the backup.
    public let stores: [Store]
    /// Why another store of the user's was left out; nil if none was.
    public let leftOut: String?
    /// All files except the manifest itself.
    public let files: [File]

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return try encoder.encode(self) + Data("\n".utf8)
    }

    /// Reads a manifest.
    ///
    /// - Throws: ``HabitStoreError/Code/notAStore`` if it is not a manifest, ``HabitStoreError/Code/newerVersion`` for one of a later version,
    ///   ``HabitStoreError/Code/corrupt`` if it names files or stores that no backup has.
    init(_ data: Data, path: String) throws {
        struct Version: Decodable {
            let format: String
            let version: Int
        }
        guard let version = try? JSONDecoder().decode(Version.self, from: data), version.format == Self.format else {
            throw HabitStoreError(.notAStore, "this is not the manifest of a user's backup", at: .init(path: path))
        }
        guard version.version <= Self.currentVersion else {
            throw HabitStoreError(
                .newerVersion,
                "the backup is of version \(version.version), and this program reads \(Self.currentVersion); restore it with the "
                    + "program that made it, or a newer one",
                at: .init(path: path)
            )
        }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        do {
            self = try decoder.decode(Self.self, from: data)
        } catch {
            throw HabitStoreError(
                .corrupt,
                "the backup's manifest is damaged",
                at: .init(path: path),
                underlying: error
            )
        }
        let names = files.map(\.name)
        guard Set(names).count == names.count, names.allSatisfy(Self.isPlain),
            Set(stores.map(\.engine)).count == stores.count,
            stores.allSatisfy({ names.contains($0.file) }), stores.contains(where: { $0.engine == serving }), old != new
        else {
            throw HabitStoreError(
                .corrupt,
                "the backup's manifest names files or stores that no backup has",
                at: .init(path: path)
            )
        }
        // These decide what a restore would lose, so they have to match the stores, whose own values are checked when they are read.
        guard stores.contains(where: { $0.engine == serving && $0.epoch == epoch }),
            stores.contains(where: { $0.token == token })
        else {
            throw HabitStoreError(
                .corrupt,
                "the backup's manifest says another epoch or token of the backup than of its stores",
                at: .init(path: path)
            )
        }
    }

    /// Names in a manifest must not lead out of the folder.
    private static func isPlain(_ name: String) -> Bool {
        (name.hasPrefix("store.") || name.hasPrefix("evidence")) && name.utf8.count <= 255
            && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
    }
}

extension BackupManifest {
    init(
        user: String,
        store: String?,
        state: RolloutState,
        serving: ReplicaStatus,
        token: HistoryToken,
        isKilled: Bool,
        stores: [Store],
        leftOut: String?,
        files: [File]
    ) {
        self.init(
            format: Self.format,
            version: Self.currentVersion,
            user: user,
            store: store,
            // The format has whole seconds.
            time: Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down)),
            stage: state.stage,
            epoch: serving.epoch,
            token: token,
            lineage: serving.lineage,
            serving: serving.engine,
            old: state.engines.old,
            new: state.engines.new,
            isKilled: isKilled,
            stores: stores,
            leftOut: leftOut,
            files: files
        )
    }

    private init(
        format: String,
        version: Int,
        user: String,
        store: String?,
        time: Date,
        stage: Stage,
        epoch: Int,
        token: HistoryToken,
        lineage: UUID,
        serving: EngineName,
        old: EngineName,
        new: EngineName,
        isKilled: Bool,
        stores: [Store],
        leftOut: String?,
        files: [File]
    ) {
        (self.format, self.version, self.user, self.store, self.time) = (format, version, user, store, time)
        (self.stage, self.epoch, self.token, self.lineage) = (stage, epoch, token, lineage)
        (self.serving, self.old, self.new, self.isKilled) = (serving, old, new, isKilled)
        (self.stores, self.leftOut, self.files) = (stores, leftOut, files)
    }
}

/// A backup of a user: a folder readable by its owner only, with a copy of each of the user's stores, the evidence, and a manifest.
///
/// `manifest.json` names each file with its length and SHA-256; `manifest.sha256` has the SHA-256 of the manifest, in the format of `sha256sum`. The
/// folder gets its name once all of it is durable.
public struct UserBackup: Sendable, Hashable {
    static let manifestName = "manifest.json"
    static let digestName = "manifest.sha256"

    /// The folder.
    public let path: String
    /// Its description.
    public let manifest: BackupManifest

    /// Reads the description of a backup, but not its files.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is nothing, ``HabitStoreError/Code/notAStore`` if it is not a backup,
    ///   ``HabitStoreError/Code/newerVersion`` for one of a later version, and ``HabitStoreError/Code/corrupt`` for a damaged manifest.
    public init(path: String) throws {
        self.path = Self.absolute(path)
        var status = stat()
        guard stat(self.path, &status) == 0 else {
            throw HabitStoreError(.notFound, "there is no backup here", at: .init(path: self.path))
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw HabitStoreError(
                .notAStore,
                "a backup of a user is a folder, and this is not one",
                at: .init(path: self.path)
            )
        }
        let file = self.path + "/" + Self.manifestName
        let data: Data
        do {
            data = try BackupFiles.contents(file)
        } catch let error as HabitStoreError where error.code == .notFound {
            throw HabitStoreError(
                .notAStore,
                "this is not a backup of a user, or not a complete one: it has no manifest",
                at: .init(path: self.path)
            )
        }
        manifest = try BackupManifest(data, path: file)
        guard try BackupFiles.contents(self.path + "/" + Self.digestName) == Self.digestLine(data) else {
            throw HabitStoreError(
                .corrupt,
                "the backup's manifest was changed after it was written",
                at: .init(path: file)
            )
        }
    }

    init(made path: String, _ manifest: BackupManifest) { (self.path, self.manifest) = (path, manifest) }

    /// The line in the format of `sha256sum -c`.
    static func digestLine(_ manifest: Data) -> Data {
        Data("\(SHA256.hash(data: manifest).hexadecimal)  \(manifestName)\n".utf8)
    }

    /// The absolute path, without `.` and `..`.
    static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }

    /// Checks all files of the backup, and returns what is wrong with them, one sentence each; empty if they are intact.
    ///
    /// - Parameter progress: receives the number of bytes read and the total.
    public func damages(progress: (Int, Int) -> Void = { _, _ in }) throws -> [String] {
        var damages: [String] = []
        let total = manifest.files.reduce(0) { $0 + $1.sizeBytes }
        var done = 0
        for file in manifest.files {
            do {
                let found = try BackupFiles.digest(path + "/" + file.name)
                if found.sizeBytes != file.sizeBytes {
                    damages.append("\(file.name) has \(found.sizeBytes) bytes and had \(file.sizeBytes)")
                } else if found.sha256 != file.sha256 {
                    damages.append("\(file.name) was changed after it was written")
                }
            } catch let error as HabitStoreError where error.code == .notFound {
                damages.append("\(file.name) is missing")
            }
            done += file.sizeBytes
            progress(done, total)
        }
        return damages
    }

    /// - Throws: ``HabitStoreError/Code/corrupt`` for a damaged or incomplete backup.
    func requireWhole(progress: (Int, Int) -> Void = { _, _ in }) throws {
        guard let damage = try damages(progress: progress).first else { return }
        throw HabitStoreError(
            .corrupt,
            "the backup is damaged, and nothing of it is restored: \(damage)",
            at: .init(path: path)
        )
    }
}
