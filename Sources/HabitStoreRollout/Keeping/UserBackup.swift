import DurableFiles
import Foundation
import HabitStore
import Hashing

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
            data = try KeptFiles.contents(file)
        } catch let error as HabitStoreError where error.code == .notFound {
            throw HabitStoreError(
                .notAStore,
                "this is not a backup of a user, or not a complete one: it has no manifest",
                at: .init(path: self.path)
            )
        }
        manifest = try BackupManifest(data, path: file)
        guard try KeptFiles.contents(self.path + "/" + Self.digestName) == Self.digestLine(data) else {
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
                let found = try KeptFiles.digest(path + "/" + file.name)
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
