import Foundation

/// The resolution of a path: the directories in which something can happen to it, and its end.
struct WatchedPath: Equatable {
    /// The names to look out for, by directory: of the file itself, of every link on the way to it, and, where something
    /// on the way is missing, of that.
    private(set) var names: [String: Set<String>] = [:]

    init(_ path: String) {
        var directory = "/"
        var rest = Self.components(Self.absolute(path))
        var links = 0
        while let name = rest.popLast() {
            if name == "." { continue }
            if name == ".." {
                directory = Self.parent(directory)
                continue
            }
            let entry = directory == "/" ? "/" + name : directory + "/" + name
            let target = Self.linkTarget(entry)
            if rest.isEmpty || target != nil || !Self.isDirectory(entry) { names[directory, default: []].insert(name) }
            if let target {
                links += 1
                guard links <= FlagLimits.linkDepth else { return }
                if target.hasPrefix("/") { directory = "/" }
                rest += Self.components(target)
            } else {
                guard Self.isDirectory(entry) else { return }
                directory = entry
            }
        }
    }

    /// The path's parts, the first one last.
    private static func components(_ path: String) -> [String] {
        path.split(separator: "/").map(String.init).reversed()
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    private static func parent(_ directory: String) -> String {
        let parts = directory.split(separator: "/").dropLast()
        return "/" + parts.joined(separator: "/")
    }

    private static func linkTarget(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let length = readlink(path, start, buffer.count)
            return length > 0 ? String(decoding: UnsafeRawBufferPointer(buffer)[..<length], as: UTF8.self) : nil
        }
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
