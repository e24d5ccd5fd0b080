import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// Everything that this program can find about a user.
struct UserBelongings {
    let directory: UserDirectory
    let engines: Engines

    /// The folder of all users' folders.
    var users: String { DurableFile.folder(of: directory.path) }

    /// The prefix of folders that an erasure left when it was interrupted at the very end; their names no longer name the user.
    static let remainsPrefix = ".erased-"

    /// The contents of the user's folder, and the folder.
    func files() throws -> [ErasureOutcome.Item] {
        guard KeptFiles.exists(directory.path) else { return [] }
        guard let paths = FileManager.default.subpaths(atPath: directory.path) else {
            throw HabitStoreError(
                .inputOutput,
                "the user's folder cannot be read",
                at: .init(path: directory.path)
            )
        }
        let inside = paths.sorted().map { name -> ErasureOutcome.Item in
            let path = directory.path + "/" + name
            var status = stat()
            guard lstat(path, &status) == 0 else { return .init(kind: "file", place: path) }
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            return .init(
                kind: isFolder ? "folder" : "file",
                place: path,
                sizeBytes: isFolder ? nil : Int(status.st_size)
            )
        }
        return inside + [.init(kind: "folder", place: directory.path)]
    }

    /// The folders that earlier erasures left.
    func remains() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: users)) ?? []
        return names.filter { $0.hasPrefix(Self.remainsPrefix) }.sorted().map { users + "/" + $0 }
    }

    // MARK: Servers

    /// The user's stores outside the folder: on servers, including those that were set aside there.
    ///
    /// - Throws: why it is unknown whether there are any.
    func storesElsewhere() throws -> [StoreAddress] {
        var found: [StoreAddress] = []
        for engine in engines.names {
            let address = engines.address(engine, of: directory)
            guard try !(engines.provider(engine) is any FileEngineProvider), try engines.identity(of: address) != nil
            else {
                continue
            }
            found.append(address)
        }
        // A store that was set aside has a name derived from the store that it was set aside from.
        for engine in engines.names where engines.isShared(engine) {
            found += try setAside(engines.address(engine, of: directory))
        }
        return found
    }

    /// The words and the highest epoch in the names of stores that were set aside. A server's names cannot be listed, so each is asked for.
    private static let words = ["parted", "damaged", "adopted", "replaced", "resynced"]
    private static let mostEpochs = 256

    private func setAside(_ address: StoreAddress) throws -> [StoreAddress] {
        let control = try? ControlFile.copy(of: directory.path + "/control")
        let last = min(control?.floor ?? 16, Self.mostEpochs)
        var found: [StoreAddress] = []
        for epoch in 0...max(0, last) {
            for word in Self.words {
                let aside = engines.address(
                    ofCopy: "\(word)-\(epoch)",
                    of: address,
                    inFolder: directory.path
                )
                if try engines.identity(of: aside) != nil { found.append(aside) }
            }
        }
        return found
    }

    // MARK: Backups

    /// A backup of the list.
    enum Listed {
        /// The user's backup.
        case own(path: String, BackupManifest)
        /// A draft, or the empty folder that an erasure left; it belongs to no other user.
        case draft(String)
        /// Why it is left alone.
        case unreachable(String)
    }

    func backups() throws -> [Listed] {
        var listed: [Listed] = []
        var seen: Set<String> = []
        for entry in try BackupList(directory).entries() {
            if let draft = entry.draft, KeptFiles.exists(draft) { listed.append(.draft(draft)) }
            guard seen.insert(entry.path).inserted else { continue }
            listed.append(judge(entry.path))
        }
        return listed
    }

    private func judge(_ path: String) -> Listed {
        guard KeptFiles.exists(path) else {
            return .unreachable("a backup was made at \(path), but is not there: if it was moved, remove it by hand")
        }
        do {
            let file = path + "/" + UserBackup.manifestName
            let manifest = try BackupManifest(try KeptFiles.contents(file), path: file)
            guard UserKey(manifest.user) == UserKey(directory.user) else {
                return .unreachable("at \(path) there is another user's backup by now: this user's may have been moved")
            }
            return .own(path: path, manifest)
        } catch {
            // The manifest goes last.
            if let names = try? KeptFiles.names(path), names.isEmpty { return .draft(path) }
            return .unreachable(
                "a backup was made at \(path), but what is there now cannot be identified as it (\(error)): remove it by hand"
            )
        }
    }

    /// Removes a backup's files, the manifest last, and the folder if it is empty then.
    ///
    /// - Returns: what is left of it, in a sentence; nil for nothing.
    func remove(_ path: String, _ manifest: BackupManifest) throws -> String? {
        try KeptFiles.remove(path + "/" + UserBackup.digestName)
        for file in manifest.files { try KeptFiles.remove(path + "/" + file.name) }
        // Sidecars that an engine made when a store was opened.
        for store in manifest.stores {
            guard let provider = try? engines.provider(store.engine) as? any FileEngineProvider else { continue }
            for ending in provider.sidecars { try KeptFiles.remove(path + "/" + store.file + ending) }
        }
        CrashPoint.reach("erase.backup")
        try KeptFiles.remove(path + "/" + UserBackup.manifestName)
        guard rmdir(path) != 0 else { return nil }
        return "the folder of the backup \(path) has other files, which are left"
    }
}
