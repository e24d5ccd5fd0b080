import Foundation
import HabitStore
import HabitStoreImport

/// The files of an export, from a folder or a zip.
struct SourceFiles {
    /// The maximum number of files, and their maximum total size in bytes.
    static let maximumFiles = 20_000
    static let maximumBytes = 512 << 20
    private static let maximumDepth = 4

    let path: String
    /// The contents, by names such as `folder/file`.
    private(set) var contents: [String: [UInt8]] = [:]

    /// Reads a folder, or unpacks a zip in memory.
    ///
    /// - Parameter wanted: selects the names of files to read.
    init(path: String, wanted: (String) -> Bool = { _ in true }) throws {
        self.path = path
        var status = stat()
        guard stat(path, &status) == 0 else { throw HabitStoreError.system(errno, "the file cannot be reached", path) }
        if status.st_mode & S_IFMT == S_IFDIR {
            var size = 0
            try read(folder: "", depth: 0, wanted, &size)
        } else {
            contents = try ZipArchive(try WholeFile.read(path).bytes, path: path).files(wanted)
        }
        // Strip a folder that was packed around the files.
        while let common = Self.commonFolder(contents.keys) {
            contents = Dictionary(uniqueKeysWithValues: contents.map { (String($0.dropFirst(common.count + 1)), $1) })
        }
    }

    private static func commonFolder(_ names: some Collection<String>) -> String? {
        let folders = Set(names.map { $0.split(separator: "/").dropLast().first.map(String.init) ?? "" })
        guard folders.count == 1, let folder = folders.first, !folder.isEmpty,
            // The folder of a single habit is part of the export.
            !names.allSatisfy({ $0.hasSuffix("/Checkmarks.csv") || $0.hasSuffix("/Scores.csv") })
        else { return nil }
        return folder
    }

    private mutating func read(folder: String, depth: Int, _ wanted: (String) -> Bool, _ size: inout Int) throws {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path + "/" + folder).sorted()
        } catch {
            throw HabitStoreError(
                .permissionDenied,
                "the folder cannot be read",
                at: .init(path: path),
                underlying: error
            )
        }
        for name in names where !name.hasPrefix(".") {
            let relative = folder.isEmpty ? name : folder + "/" + name
            var status = stat()
            guard stat(path + "/" + relative, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                if depth < Self.maximumDepth { try read(folder: relative, depth: depth + 1, wanted, &size) }
            } else if status.st_mode & S_IFMT == S_IFREG, wanted(relative) {
                size += Int(status.st_size)
                guard contents.count < Self.maximumFiles, size <= Self.maximumBytes else {
                    throw HabitStoreError(
                        .limitExceeded,
                        "there are too many or too large files in it",
                        at: .init(path: path)
                    )
                }
                contents[relative] = try WholeFile.read(path + "/" + relative).bytes
            }
        }
    }
}
