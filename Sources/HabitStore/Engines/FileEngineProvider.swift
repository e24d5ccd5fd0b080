import DurableFiles
import Foundation

/// An engine whose stores are files: one in a user's folder, named after the engine, and perhaps others next to it.
@_spi(Engines) public protocol FileEngineProvider: EngineProvider {
    /// The suffixes of files that belong to a store's file, such as `-wal`; without the file itself.
    var sidecars: [String] { get }

    /// Those of the sidecars that hold records, or what opening a copy needs.
    var copiedSidecars: [String] { get }
}

@_spi(Engines) extension FileEngineProvider {
    /// `store.NAME` in the user's folder.
    public func place(ofUser user: String, inFolder folder: String) -> String { "\(folder)/store.\(name.rawValue)" }

    /// The file's device and inode.
    public func identity(at place: String) -> StoreIdentity? { StoreIdentity(path: place) }

    /// Whether the system would let this process write to the file and what belongs to it.
    public func mayWrite(_ place: String) -> Bool {
        // Opening a file to find out would give up the process's locks on it.
        ([""] + sidecars).allSatisfy { access(place + $0, W_OK) == 0 || errno == ENOENT }
    }

    /// Renames the file and what belongs to it.
    public func setAside(_ place: String, as suffix: String) throws -> String {
        var aside = "\(place)-\(suffix)"
        while FileManager.default.fileExists(atPath: aside) { aside += "-" }
        try each(place, sidecars, "the store cannot be set aside as \(aside)") { file, ending in
            try FileManager.default.moveItem(atPath: file, toPath: aside + ending)
        }
        return aside
    }

    /// Copies the file and what belongs to it, for this user of the machine only.
    public func copy(_ place: String, to target: String) throws {
        try each(place, copiedSidecars, "the store cannot be copied to \(target)") { file, ending in
            try FileCopy.copy(file, to: target + ending)
        }
    }

    /// Removes the file, and then what belongs to it.
    public func remove(_ place: String) throws {
        try each(place, sidecars, "the store cannot be removed") { file, _ in
            try FileManager.default.removeItem(atPath: file)
        }
    }

    /// The store's own file first: without it the others mean nothing.
    private func each(
        _ place: String,
        _ endings: [String],
        _ failure: String,
        _ body: (_ file: String, _ ending: String) throws -> Void
    ) throws {
        do {
            for ending in [""] + endings where ending.isEmpty || FileManager.default.fileExists(atPath: place + ending)
            {
                try body(place + ending, ending)
            }
        } catch {
            throw HabitStoreError(.inputOutput, failure, at: .init(path: place), underlying: error)
        }
    }
}
